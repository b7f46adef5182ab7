"""A power cut, played from a log.

A child writes through a file system that logs every write, truncation, sync and deletion of the database's files, and
after every verb what the whole store then held (`state`). A cut takes a moment of the log: what a file was told to
sync is on the disk; of what was written since, a random part is, in pieces of a sector. The store that is rebuilt
from that is judged by plain SQL: it must be whole, and hold exactly one of the states.
"""

from __future__ import annotations

import hashlib
import json
import random
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import apsw

import palaver

SECTOR = 512
Op = list[Any]  # [kind, file, offset or size, data] or ["state", digest, is a boundary]


# ---------------------------------------------------------------- recording (in the child)


class _File(apsw.VFSFile):
    def __init__(self, log: list[Op], base: str, given: Any, flags: list[int]) -> None:
        self._log, self._name = log, Path(filename(given)).name
        super().__init__(base, given, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._log.append(["write", self._name, offset, b64encode(data).decode()])

    def xTruncate(self, size: int) -> None:
        super().xTruncate(size)
        self._log.append(["truncate", self._name, size])

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._log.append(["sync", self._name])


class _FileSystem(apsw.VFS):
    def __init__(self, log: list[Op]) -> None:
        self._log, self._base = log, apsw.vfs_names()[0]
        super().__init__("logged", self._base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        if not filename(name):  # SQLite's own scratch
            return apsw.VFSFile(self._base, name, flags)
        return _File(self._log, self._base, name, flags)

    def xDelete(self, name: str, syncdir: bool) -> None:
        super().xDelete(name, syncdir)
        self._log.append(["delete", Path(name).name])


def filename(given: Any) -> str:
    return (given.filename() if isinstance(given, apsw.URIFilename) else given) or ""


class Recorder:
    """A store over the logging file system; `did` notes what it holds after a verb."""

    def __init__(self, path: str, durability: str) -> None:
        from palaver.db.sqlite import checkpoint

        checkpoint.CHECKPOINT_PAGES = 40  # so that a short run has checkpoints, too
        self.log: list[Op] = [["state", state(apsw.Connection(":memory:")), False]]
        self._vfs = _FileSystem(self.log)
        self.store = palaver.open(path, durability=durability, trim_after=3600)
        self._judge = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY, vfs="logged")
        self.did(boundary=False)

    def did(self, *, boundary: bool) -> None:
        self.log.append(["state", state(self._judge), boundary])

    def close(self) -> None:
        self._judge.close()
        self.store.close()


def record(path: str, log: str, durability: str, turns: int) -> None:
    recorder = Recorder(path, durability)
    session = recorder.store.sessions.create(agent="cut")
    recorder.did(boundary=True)
    for number in range(turns):
        _one_turn(recorder, session, number)
    session.rewind(to=session.messages()[0])
    recorder.did(boundary=True)
    Path(log).write_text(json.dumps(recorder.log))
    recorder.close()


def _one_turn(recorder: Recorder, session: palaver.Session, number: int) -> None:
    turn = session.turn(f"question {number}")
    recorder.did(boundary=True)
    call = f"call-{number}"
    chunks: list[tuple[dict[str, Any], bool]] = []
    chunks += [({"type": "start-step"}, False), ({"type": "text-start", "id": "t"}, False)]
    chunks += [({"type": "text-delta", "id": "t", "delta": f"{number}.{n} " * 30}, False) for n in range(6)]
    chunks += [
        ({"type": "text-end", "id": "t"}, False),
        ({"type": "tool-input-available", "toolCallId": call, "toolName": "run", "input": {}}, False),
        ({"type": "tool-output-available", "toolCallId": call, "output": number}, True),
        ({"type": "finish-step"}, True),
    ]
    for chunk, boundary in chunks:
        turn.write(chunk)
        recorder.did(boundary=boundary)
    turn.seal()
    recorder.did(boundary=True)


def load(log: Path) -> list[Op]:
    ops: list[Op] = json.loads(log.read_text())
    return [[*op[:3], b64decode(op[3])] if op[0] == "write" else op for op in ops]


# ---------------------------------------------------------------- what a store holds


def state(connection: apsw.Connection) -> str:
    """A digest over every row of every table but `owners`, who only sign in and out."""
    digest = hashlib.sha256()
    names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('owners') ORDER BY name"
    connection.execute("BEGIN")
    for (name,) in connection.execute(names).fetchall():
        rows = sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"').fetchall()))
        digest.update(repr((name, rows)).encode())
    connection.execute("ROLLBACK")
    return digest.hexdigest()


# ---------------------------------------------------------------- the cut


class Disk:
    """One file: what is certainly there, and what was only handed over."""

    def __init__(self) -> None:
        self.sure = bytearray()
        self.loose: list[Op] = []

    def sync(self) -> None:
        for op in self.loose:
            apply(self.sure, op)
        self.loose.clear()

    def after_cut(self, chance: random.Random) -> bytes:
        """Nothing, everything, or anything between of what was not synced."""
        content = bytearray(self.sure)
        keep = chance.choice((0.0, 0.5, 0.9, 1.0))
        for op in self.loose:
            if op[0] == "truncate":
                if chance.random() < keep:
                    apply(content, op)
                continue
            data = op[3]
            for at in range(0, len(data), SECTOR):
                if chance.random() < keep:
                    put(content, op[2] + at, data[at : at + SECTOR])
        return bytes(content)


def apply(content: bytearray, op: Op) -> None:
    if op[0] == "truncate":
        del content[op[2] :]
    else:
        put(content, op[2], op[3])


def put(content: bytearray, at: int, data: bytes) -> None:
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data


class Cut:
    """The disk after the power went in one moment of the log, written to a folder of its own."""

    def __init__(self, log: list[Op], moment: int, chance: random.Random, folder: Path) -> None:
        self.path = folder / "talks.db"
        self.states = [op[1] for op in log if op[0] == "state"]
        before = [op for op in log[:moment] if op[0] == "state"]
        self.acknowledged = len(before) - 1
        self.boundary = max((n for n, op in enumerate(before) if op[2]), default=0)
        folder.mkdir()
        for name, disk in _disks(log[:moment]).items():
            (folder / name).write_bytes(disk.after_cut(chance))

    def judge(self) -> tuple[str, int]:
        """(integrity_check, which of the states it holds or -1)."""
        connection = apsw.Connection(str(self.path))
        try:
            verdict = str(connection.execute("PRAGMA integrity_check").fetchall()[0][0])
            found = state(connection)
        except apsw.Error as error:
            return f"{type(error).__name__}: {error}", -1
        finally:
            connection.close()
        newest = len(self.states) - 1 - self.states[::-1].index(found) if found in self.states else -1
        return verdict, newest


def _disks(ops: list[Op]) -> dict[str, Disk]:
    disks: dict[str, Disk] = {}
    for op in ops:
        if op[0] == "delete":
            disks.pop(op[1], None)
        elif op[0] == "sync":
            disks.setdefault(op[1], Disk()).sync()
        elif op[0] != "state":
            disks.setdefault(op[1], Disk()).loose.append(op)
    return disks


def cuts(log: list[Op], count: int, seed: int, folder: Path) -> list[Cut]:
    """Moments spread over the whole log, from the creation of the file on."""
    chance = random.Random(seed)
    return [Cut(log, chance.randint(1, len(log)), chance, folder / f"cut-{n}") for n in range(count)]
