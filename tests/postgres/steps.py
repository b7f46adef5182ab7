"""A life at random: every verb on one store, by a seed. What each step told is kept, to be compared with another store.

The player knows no model: it chooses among what the store shows. On stores that behave the same it does the same; the
first step that tells something else is where they part.
"""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from typing import Any, NamedTuple

import palaver
from palaver import exports
from tests.model.fold import Fold, options

from .engines import Engine, World

MANY = 8  # sessions
TICKS = (0, 1, 7, 40, 1_500, 90_000, -20)
AGENTS = ("coder", "Coder", "ünder", "a b")
NAMES = ("Z", "a", "é", "ß", "😀", "zz", "B")
WORDS = ("say", "Größe 😀", "nul \x00 nul", "1.10", "line\nline", "'; --", "back\\slash %s $1 :now")
PERMISSIONS = ("bash", "edit", "net.fetch")
UNKNOWN = "msg_00000000000000nobodynobody"
MALFORMED: tuple[Any, ...] = (
    {"type": "text-delta", "id": "nobody", "delta": "x"},
    {"type": "tool-output-available", "toolCallId": "nobody", "output": 1},
    {"type": "text-start"},
    {"type": "data-compaction", "data": {}},
    "[1, 2]",
)


class Step(NamedTuple):
    verb: str
    told: str  # what it gave back, or how it was refused
    shown: str  # and how the session reads then


@dataclass
class Open:
    """A turn that we hold a handle of, and what was sent to it."""

    handle: palaver.Turn
    fold: Fold = field(default_factory=Fold)
    sent: list[Any] = field(default_factory=list)


class Player:
    def __init__(self, engine: Engine, store: palaver.Store, world: World, seed: int) -> None:
        self._engine, self._store, self._world = engine, store, world
        self.random = random.Random(f"player {seed}")
        self.reached: Counter[str] = Counter()
        self._sessions: list[str] = []
        self._open: dict[str, Open] = {}
        self._queued: list[tuple[str, str]] = []  # session, message
        self._closed: set[str] = set()  # sessions that are archived or deleted
        self._cursors: dict[str, int] = {}
        self._count = 0
        self._here: str | None = None  # the session that the step is about

    def play(self, steps: int) -> list[Step]:
        verbs = [verb for verb, weight in VERBS.items() for _ in range(weight)]
        played = [self._step(self._create)]
        return played + [self._step(self.random.choice(verbs).__get__(self)) for _ in range(steps - 1)]

    def _step(self, verb: Callable[[], Any]) -> Step:
        self._here, name = None, verb.__name__.strip("_")
        self._world.ms += self.random.choice(TICKS)
        try:
            told = repr(shown(verb()))
            self.reached[name] += 1
        except palaver.StoreError:
            raise
        except palaver.PalaverError as error:
            told = f"{type(error).__name__}: {error}".replace(self._store.path, "the store")
            self.reached[f"refused: {type(error).__name__}"] += 1
        return Step(name, told, self._glance())

    def _glance(self) -> str:
        if self._here is None:
            return ""
        try:
            here = self._session(self._here)
            return f"{here.messages_json()} {here.info} {here.cursor()}"
        except palaver.PalaverError as error:
            return repr(error)

    # ------------------------------------------------------------ choosing

    def _new(self) -> str:
        self._count += 1
        return str(self._count)

    def _chance(self, part: float) -> bool:
        return self.random.random() < part

    def _session(self, name: str) -> palaver.Session:
        return self._store.sessions.get(name, deleted=True)

    def _pick(self) -> palaver.Session:
        """A session; now and then one that is closed, or that nobody knows."""
        found = [key for key in self._sessions if key not in self._closed] if self._chance(0.9) else []
        self._here = self.random.choice(found or self._sessions) if self._chance(0.99) else "ses_nobody"
        return self._session(self._here)

    def _pick_closed(self) -> palaver.Session:
        if not self._closed or self._chance(0.2):
            return self._pick()
        self._here = self.random.choice(sorted(self._closed))
        return self._session(self._here)

    def _pick_open(self, *status: str) -> Open | None:
        """An open turn; now and then one that is over."""
        found = [one for one in self._open.values() if one.handle.status in status]
        if not found or self._chance(0.06):
            found = list(self._open.values())
        if not found:
            return None
        chosen = self.random.choice(found)
        self._here = chosen.handle.session_id
        return chosen

    def _message(self, here: palaver.Session) -> str:
        found = [message["id"] for message in here.messages()]
        return self.random.choice(found) if found and not self._chance(0.05) else UNKNOWN

    def _turn(self, here: palaver.Session) -> str:
        found = [turn.id for turn in here.tree()]
        return self.random.choice(found) if found and not self._chance(0.05) else "trn_nobody"

    def _place(self, here: palaver.Session) -> str:
        return self._message(here) if self._chance(0.6) else self._turn(here)

    def _expected(self, here: palaver.Session) -> int | None:
        """None most of the time; the revision, or a wrong one."""
        if self._chance(0.7):
            return None
        return here.revision + (self.random.choice((-1, 1)) if self._chance(0.3) else 0)

    def _began(self, turn: palaver.Turn) -> Any:
        self._open[turn.id] = Open(turn)
        return turn.id, turn.status

    # ------------------------------------------------------------ things to say

    def _text(self) -> str:
        return f"{self.random.choice(WORDS)} {self._new()}"

    def _user(self) -> dict[str, Any]:
        said: dict[str, Any] = {"role": "user", "parts": [{"type": "text", "text": self._text()}]}
        shape = self.random.randrange(5)
        if shape == 1:
            said["id"] = f"u-{self._new()}"
        elif shape == 2:
            said["id"] = f"msg_{self._new():0>26}"
        elif shape == 3:
            said["metadata"] = {"k": [1, {"ü": 1.5}], "n": self._new()}
        elif shape == 4:
            said["parts"].append({"type": "file", "mediaType": "text/plain", "url": "https://a.example"})
        return said

    def _answer(self) -> dict[str, Any]:
        call = f"c-{self._new()}"
        tool = {"type": "tool-run", "toolCallId": call, "state": "input-available", "input": {"q": call}}
        ended = tool | {"state": "output-available", "output": [call, 1.25]}
        parts = [{"type": "text", "text": self._text()}, *self.random.choice(([], [tool], [ended], [tool, ended]))]
        usage = {"usage": {"input": self.random.randrange(9), "output": 2, "cache_read": 1}}
        return {"role": "assistant", "metadata": self.random.choice(({}, usage, {"mine": None})), "parts": parts}

    def _words(self) -> Any:
        system = {"role": "system", "parts": [{"type": "text", "text": self._text()}]}
        return self.random.choice((self._text(), self._user(), [system, self._user()], None))

    def _setup(self) -> dict[str, Any]:
        given: dict[str, Any] = {
            "model": self.random.choice(("acme/one", {"provider_id": "acme", "model_id": "zwei", "variant": "x"})),
            "agent": self.random.choice(AGENTS),
            "snapshot_id": f"snap-{self._new()}",
            "toolset": "all",
            "tools": ["run", "look"],
            "permissions": [{"permission": "bash", "pattern": "*", "action": "ask", "source": "project"}],
            "trigger": {"source": "webhook", "delivery_id": f"d-{self.random.randrange(6)}"},
        }
        return {key: value for key, value in given.items() if self._chance(0.12)}

    def _prompted(self) -> dict[str, Any]:
        return self._setup() | ({"system_prompt": f"Be {self.random.choice(NAMES)}"} if self._chance(0.2) else {})

    # ------------------------------------------------------------ sessions

    def _create(self) -> Any:
        if len(self._sessions) >= MANY:
            return self._list()
        new = self._new()
        given: dict[str, Any] = {
            "workspace": self.random.choice((None, "/src", "/Src")),
            "model": self.random.choice((None, "acme/one")),
            "title": self.random.choice((None, *NAMES)),
            "metadata": self.random.choice((None, {"k": {"ü": [1.10, None]}})),
            "id": self.random.choice((None, None, f"app-{new}", f"ses_{'0' * 11}{new:0>3}aBcDeFgHiJkL", "app-1")),
            **self._facts(),
        }
        if self._sessions and self._chance(0.3):
            relation = self.random.choice((None, "continue", "import", "fork"))
            given |= {"parent": self.random.choice(self._sessions), "tool_call_id": "c-1", "relation": relation}
        made = self._store.sessions.create(self.random.choice(AGENTS), **given)
        self._sessions.append(made.id)
        self._here = made.id
        return made.id

    def _facts(self) -> dict[str, Any]:
        choose = self.random.choice
        return {
            "project": choose((None, *NAMES)),
            "user": choose((None, "u")),
            "facts": {"ü": choose((None, "1", "2"))},
        }

    def _update(self) -> Any:
        here = self._pick()
        here.update(workspace=self.random.choice((None, "/src")), **self._facts())
        return dict(here.facts)

    def _fork(self) -> Any:
        here = self._pick()
        if len(self._sessions) >= MANY:
            return here.ancestors(), here.descendants()
        at = None if self._chance(0.3) else self._place(here)
        made = here.fork(at, title=self.random.choice((None, *NAMES)), copy=self._chance(0.3))
        self._sessions.append(made.id)
        return made.id, made.messages_json(), made.ancestors()

    def _materialise(self) -> Any:
        return self._pick().materialise()

    def _title(self) -> Any:
        self._pick().title = self.random.choice((None, *NAMES))

    def _alias(self) -> Any:
        here = self._pick()
        turn = self._turn(here) if self._chance(0.2) else None
        here.alias(self.random.choice(NAMES[:2]), self.random.choice(("alias", "Label")), turn=turn, reason="why not")
        return here.aliases()

    def _unalias(self) -> Any:
        here = next((each for each in map(self._session, self._sessions) if each.aliases()), self._pick())
        namespace, name = self.random.choice(here.aliases() or [("alias", "nobody")])
        here.unalias(name, namespace)
        return here.aliases()

    def _archive(self) -> Any:
        here = self._pick_closed()
        if here.info.archived_at is None or self._chance(0.1):
            self._closed.add(here.id)
            return here.archive()
        here.unarchive()
        return self._closed.discard(here.id)

    def _delete(self) -> Any:
        here = self._pick_closed()
        if here.info.deleted_at is None or self._chance(0.1):
            self._closed.add(here.id)
            return here.delete()
        here.undelete()
        return self._closed.discard(here.id)

    # ------------------------------------------------------------ turns

    def _commit(self) -> Any:
        here = self._pick()
        said = [self._user(), self._answer()] * self.random.randrange(1, 3)
        if self._chance(0.3):
            said = self.random.choice((self._text(), [self._answer()], []))
        return here.commit(said, self._expected(here), **self._setup())

    def _begin(self) -> Any:
        here = self._pick()
        return self._began(here.turn(self._words(), self._expected(here), **self._prompted()))

    def _regenerate(self) -> Any:
        here = self._pick()
        message = None if self._chance(0.5) else self._message(here)
        return self._began(here.regenerate(message, self._expected(here), **self._prompted()))

    def _edit(self) -> Any:
        here = self._pick()
        content = self._words()
        return self._began(here.edit(self._message(here), content, self._expected(here), **self._prompted()))

    def _write(self) -> Any:
        """Some chunks that fit, one by one or at once; those at once may say their place."""
        one = self._pick_open("streaming")
        if one is None:
            return self._begin()
        fold, chunks = copy.deepcopy(one.fold), []
        for _ in range(self.random.randrange(1, 9)):
            chunks.append(self.random.choice(options(fold, self._new(), may_count=self._chance(0.1))))
            fold.apply(chunks[-1])
            if chunks[-1]["type"] == "finish" and fold.unresolved():
                break
        self._send(one, chunks)
        one.fold = fold
        one.sent += chunks
        return one.handle.chunks, one.handle.status, one.handle.message()

    def _send(self, one: Open, chunks: list[Any]) -> None:
        way, known = self.random.randrange(4), one.handle.chunks
        if way == 0 and known == len(one.sent):
            again = self.random.randrange(min(known, 4) + 1)
            one.handle.append([*one.sent[known - again :], *chunks], at=known - again)
        elif way == 1:
            one.handle.append([json.dumps(chunk) for chunk in chunks])
        else:
            for chunk in chunks:
                one.handle.write(chunk)

    def _write_wrongly(self) -> Any:
        one = self._pick_open("streaming")
        if one is None:
            return None
        known = one.handle.chunks
        at = self.random.choice((None, known, known + 1, max(0, known - 1)))
        one.handle.append([{"type": "start-step"}, self.random.choice((*MALFORMED, {"type": "finish-step"}))], at=at)
        return one.handle.message()

    def _usage(self) -> Any:
        one = self._pick_open("streaming", "waiting")
        if one is None:
            return None
        if self._chance(0.2):
            counted = {"type": "message-metadata", "messageMetadata": {"usage": {"input": 7, "output": 2}}}
            one.sent.append(counted)
            one.handle.write(counted)
        cost = self.random.choice((None, 0.1, 0.25))
        one.handle.usage(input=self.random.randrange(9), output=1, cache_write=2, cost_usd=cost)
        one.handle.used(self.random.choice(PERMISSIONS))
        return one.handle.message()

    def _seal(self) -> Any:
        one = self._pick_open("streaming", "waiting")
        if one is None:
            return None
        if self._chance(0.2):
            one.handle.abort(self.random.choice((None, "enough")))
        else:
            one.handle.seal(self.random.choice((None, None, "completed", "failed", "aborted", "pending")))
        return one.handle.status

    def _wait(self) -> Any:
        one = self._pick_open("streaming")
        return one and (one.handle.wait(), one.handle.status)

    def _resume(self) -> Any:
        waiting = [key for key, one in self._open.items() if one.handle.status == "waiting"]
        here, name = self._pick(), self.random.choice(waiting or ["trn_nobody"])
        if waiting and self._chance(0.9):
            self._here = self._open[name].handle.session_id
            here = self._session(self._here)
        handle = here.resume(name)
        known = self._open.get(name)
        self._open[name] = Open(handle, known.fold, known.sent) if known else Open(handle)
        return handle.id, handle.status, handle.message()

    def _resolve(self) -> Any:
        """A result or an answer from outside; after the seal it is kept beside the turn."""
        asked = [one for one in self._open.values() if one.fold.unresolved()]
        one = self.random.choice(asked) if asked else self._pick_open("streaming", "waiting")
        if one is None:
            return None
        self._here = one.handle.session_id
        call = self.random.choice([*one.fold.unresolved(), "nobody"])
        answers: list[dict[str, Any]] = [{"output": {"late": [1, None]}}, {"error": "broken"}]
        answers += [{"approved": True}, {"approved": False, "reason": "no"}]
        one.handle.resolve(call, **self.random.choice(answers))
        return one.handle.status, one.handle.message()

    # ------------------------------------------------------------ moves

    def _rewind(self) -> Any:
        here = self._pick()
        return here.rewind(self._place(here), self._expected(here), reason=self.random.choice((None, "back")))

    def _undo(self) -> Any:
        here = self._pick()
        return here.undo(self._expected(here))

    def _undo_and_redo(self) -> Any:
        here = self._pick()
        here.undo()
        return here.messages_json(), here.redo(self._expected(here))

    def _move(self) -> Any:
        here = self._pick()
        return here.move(self._turn(here), here.revision - self._chance(0.2), reason="there")

    # ------------------------------------------------------------ the queue, rules, summaries

    def _enqueue(self) -> Any:
        here, name = self._pick(), self.random.choice((None, f"q-{self._new()}"))
        if self._queued and self._chance(0.2):
            self._here, name = self.random.choice(self._queued)
            here = self._session(self._here)
        told = here.enqueue(self._text() if self._chance(0.6) else "the same", id=name)
        self._queued.append((here.id, told.id))
        return told, here.queue()

    def _claim(self) -> Any:
        here, name = self._pick(), None
        if self._queued and self._chance(0.5):  # whatever became of it
            self._here, name = self.random.choice(self._queued)
            here = self._session(self._here)
        turn = here.claim(name, self._expected(here))
        return turn and self._began(turn)

    def _cancel(self) -> Any:
        self._here, name = self.random.choice(self._queued or [(self._sessions[0], "nobody")])
        here = self._session(self._here)
        told = here.cancel(name)
        return told, here.queue(), here.claim(name) if self._chance(0.3) else None

    def _permit(self) -> Any:
        rules, name = self._pick().permissions, self.random.choice(PERMISSIONS)
        rules.add(name, self.random.choice(("*", "git *")), self.random.choice(("allow", "deny", "ask", "perhaps")))
        return rules.list(), rules.evaluate(name, argv=["git", "push"])

    def _revoke(self) -> Any:
        rules = self._pick().permissions
        return rules.remove(self.random.choice(PERMISSIONS)), rules.list()

    def _compact(self) -> Any:
        here = self._pick()
        keep = self._turn(here) if self._chance(0.5) else None
        return here.compact(self._text(), keep, self._expected(here), tokens_before=9), here.context()

    def _compact_midway(self) -> Any:
        one = self._pick_open("streaming")
        return one and self._began(one.handle.compact(self._text()))

    def _prune(self) -> Any:
        here = self._pick()
        if self._chance(0.3):
            return here.prune(self._turn(here))
        return here.prune(keep=self.random.randrange(3)), here.context()

    # ------------------------------------------------------------ reading

    def _read(self) -> Any:
        here = self._pick()
        told = [here.transcript(), here.history(), here.path(), here.tree(), here.strays(), here.live(), here.queue()]
        return (
            told,
            here.context(),
            here.model_messages(),
            here.at(self._world.ms - self.random.randrange(5_000)).turn_id,
        )

    def _read_open(self) -> Any:
        one = self._pick_open("streaming", "waiting")
        return one and one.handle.context()

    def _list(self) -> Any:
        sessions = self._store.sessions
        given: dict[str, Any] = {
            "agent": self.random.choice((None, None, *AGENTS)),
            "workspace": self.random.choice((None, None, "/src")),
            "parent": self.random.choice((None, None, *self._sessions)),
            "archived": self._chance(0.5),
            "order": self.random.choice(("updated", "created", "sideways") if self._chance(0.1) else ("updated",)),
            "limit": self.random.choice((1, 2, 3, 50)),
            **(self._facts() if self._chance(0.5) else {}),
        }
        pages = [sessions.list(**given)]
        while pages[-1].next is not None:
            pages.append(sessions.list(**given, after=pages[-1].next))
        return pages, [info.id for info in sessions]

    def _find(self) -> Any:
        name = self.random.choice((*NAMES, *self._sessions, "app-1", "nobody", "JkL", "0000"))
        return sorted(info.id for info in self._store.sessions.match(name)), self._store.sessions.find(name).id

    def _follow(self) -> Any:
        here = self._pick()
        after = self._cursors.get(here.id, 0)
        found = list(islice(here.follow(after, timeout=0), 1_000))
        self._cursors[here.id] = found[-1].seq if found and self._chance(0.7) else after
        return found, here.events(after, limit=5)

    def _trim(self) -> Any:
        return self._store.trim(older_than=self.random.choice((0, 1)))

    def _verify(self) -> Any:
        return self._store.verify()

    # ------------------------------------------------------------ others

    def _foreign(self) -> Any:
        """Another program writes into a session, by plain SQL."""
        here = self._pick()
        at = max(self._world.ms, *(row[0] or 0 for row in self._rows("SELECT max(created_at) FROM chat_messages"))) + 1
        key = f"msg_{self._new():0>14}aBcDeFgHiJkL"
        role = self.random.choice(("user", "user", "assistant"))
        part = (f"prt{key[3:]}", key, here.id, 0, "text", json.dumps({"type": "text", "text": self._text()}), at, at)
        self._engine.write(
            self._store,
            "INSERT INTO chat_messages (id, session_id, role, created_at, updated_at) VALUES (?, ?, ?, ?, ?)",
            [(key, here.id, role, at, at)],
        )
        self._engine.write(
            self._store,
            'INSERT INTO chat_parts (id, message_id, session_id, "index", type, data_json, created_at, updated_at)'
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [part],
        )
        return key

    def _adopt(self) -> Any:
        return self._pick().adopt() if self._chance(0.7) else self._store.adopt()

    def _name_foreign(self) -> Any:
        ours, theirs = self.random.choice(self._sessions), f"x-{self.random.randrange(3)}"
        return self._store.put_foreign_id("other", theirs, ours), self._store.find_foreign_id("other", "x-0")

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self._engine.rows(self._store, statement)

    # ------------------------------------------------------------ the end

    def picture(self) -> dict[str, str]:
        """Everything that there is to see, in the end."""
        seen = {f"{name} of {key}": repr(shown(value)) for key in self._sessions for name, value in self._portrait(key)}
        seen["verify"] = repr(self._store.verify())
        seen["list"] = repr(self._store.sessions.list(archived=True, limit=100))
        seen["export"] = repr(exported(self._store))
        for table, order in TABLES.items():
            seen[f"rows of {table}"] = repr(
                self._rows(f"SELECT {COLUMNS.get(table, '*')} FROM {table} ORDER BY {order}")
            )
        return seen

    def _portrait(self, key: str) -> list[tuple[str, Any]]:
        here = self._session(key)
        return [
            ("messages", here.messages_json()),
            ("transcript", here.transcript()),
            ("info", here.info),
            ("history", here.history()),
            ("path", here.path()),
            ("tree", here.tree()),
            ("events", here.events(limit=10_000)),
            ("queue", here.queue()),
            ("context", here.context()),
            ("strays", here.strays()),
            ("permissions", here.permissions.list()),
            ("aliases", here.aliases()),
            ("facts", dict(here.facts)),
            ("lineage", (here.ancestors(), here.descendants())),
        ]


# How far a process has looked for rows of others is its own affair.
COLUMNS = {
    "heads": "session_id, turn_id, prev_turn_id, revision, event_seq, events_floor, last_at, relation, origin_id,"
    " origin_turn, origin_call, scope_json, title, preview, deleted_at"
}
TABLES = {
    **dict.fromkeys(("chat_sessions", "chat_messages", "chat_parts", "turns"), "id"),
    "turn_entries": "turn_id, seq",
    "heads": "session_id",
    "reflog": "session_id, seq",
    "events": "session_id, seq",
    "queue": "session_id, id",
    "deliveries": "source, delivery_id",
    "pruned": "part_id",
    "copies": "copy_id",
    "aliases": "namespace, name",
    "session_facts": "name, value, session_id",
    "foreign_ids": "origin, scope, foreign_id",
    "system_prompts": "digest",
}


def exported(store: palaver.Store) -> list[dict[str, Any]]:
    out = BytesIO()
    exports.write(store.db, out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    return [{key: value for key, value in line.items() if key not in ("looked_at", "sha256")} for line in lines]


def shown(value: Any) -> Any:
    """Handles by what they stand for: where they are kept differs."""
    if isinstance(value, palaver.Session | palaver.Turn):
        return value.id
    if isinstance(value, palaver.StoredMessage):
        return [getattr(value, name) for name in value.__slots__]
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    return value


VERBS: dict[Callable[[Player], Any], int] = {
    Player._create: 2, Player._fork: 4, Player._materialise: 1, Player._title: 1, Player._alias: 5,
    Player._unalias: 2, Player._archive: 2, Player._delete: 2, Player._commit: 8, Player._begin: 5,
    Player._regenerate: 3, Player._edit: 2, Player._write: 14, Player._write_wrongly: 3, Player._usage: 3,
    Player._seal: 6, Player._wait: 2, Player._resume: 4, Player._resolve: 4, Player._rewind: 3, Player._undo: 3,
    Player._undo_and_redo: 2, Player._move: 2, Player._enqueue: 4, Player._claim: 5, Player._cancel: 3,
    Player._permit: 2, Player._revoke: 1, Player._compact: 2, Player._compact_midway: 2, Player._prune: 2,
    Player._read: 3, Player._read_open: 1, Player._list: 3, Player._update: 2, Player._find: 2, Player._follow: 3,
    Player._trim: 1, Player._verify: 1, Player._foreign: 2, Player._adopt: 1, Player._name_foreign: 1,
}  # fmt: skip
