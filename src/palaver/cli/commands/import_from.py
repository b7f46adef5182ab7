"""`palaver import --from`: a conversation in the format of a model API comes in. The work is `palaver.importers`."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from palaver import GraftRefused, GraftReport

from ..command import Call
from ..exits import OK, PROBLEMS, USAGE, Stop
from ..ui.format import count
from ..ui.screen import Screen
from ..wording import worded
from . import dialect_files

FORMATS = ("aisdk", "openai", "anthropic")
NOTHING = dict.fromkeys(("session", "turns", "items", "known", "beside", "homeless"))  # of an export


class Wanted(NamedTuple):
    """What the caller said beside the file."""

    format: str
    id: str | None
    is_new: bool
    agent: str | None
    title: str | None


def run(call: Call, name: str, data: bytes, wanted: Wanted) -> int:
    from palaver import importers

    session = importers.BY_NAME[wanted.format](data, id=_id(wanted), file=name, **_about(wanted))
    store = call.store(create=True)
    try:
        report = store.graft(session)
    except GraftRefused as error:
        report = error.report
    return _tell(call, report)


def _id(wanted: Wanted) -> str:
    """What the source's session is called; without a name the same file would come in twice."""
    if wanted.id is not None and wanted.is_new:
        raise Stop(USAGE, "--id names a session, --new makes one without a name: give one of them", "Usage")
    if wanted.id is None and not wanted.is_new:
        why = "such a file does not say which conversation it is, and would come in twice"
        raise Stop(USAGE, f"{why}; name it: --id chat-42, or --new if it comes in once only", "Usage")
    if wanted.id is not None:
        return wanted.id
    from palaver.base import ids

    return ids.mint(ids.SESSION)


def _about(wanted: Wanted) -> dict[str, Any]:
    given = {"agent": wanted.agent, "title": wanted.title}
    return {name: value for name, value in given.items() if value is not None}


def _tell(call: Call, report: GraftReport) -> int:
    [session] = report.sessions
    refusals = [{"line": None, "session": each.session, "why": worded(str(each))} for each in report.problems]
    screen = Screen(sys.stderr)
    for refusal in () if call.json else refusals:
        sys.stderr.write(screen.sanitized(f"refused: {refusal['why']}") + "\n")
    there = session.session_id is not None and not session.is_new and not session.turns and not session.skipped
    value = {
        **{"imported": int(session.is_new), "already_there": int(there), "refused": len(refusals)},
        **{"lines": session.items + session.known, "refusals": refusals, "cut": [], "session": session.session_id},
        **{"turns": session.turns, "items": session.items, "known": session.known},
        **{"beside": session.beside, "homeless": session.homeless},
        **dialect_files.NO_IMPORT,
    }
    call.done(value, _sentence(report))
    return PROBLEMS if refusals else OK


def _sentence(report: GraftReport) -> str:
    [session] = report.sessions
    if session.skipped:
        return f"{session.session_id} is {session.skipped} here, and was left alone"
    if session.session_id is None:
        return "nothing came in"
    told = [f"imported {count(session.turns, 'turn')} ({count(session.items, 'item')}) into {session.session_id}"]
    if not session.turns and not session.is_new:
        told = [f"nothing new for {session.session_id}"]
    if session.known:
        told.append(f"{count(session.known, 'item')} already there")
    if session.beside:
        told.append(f"{count(session.beside, 'turn')} kept beside, because the session went on here")
    if session.homeless:
        told.append(f"{count(session.homeless, 'thing')} no message has a place for, kept as they came")
    return ", ".join(told)
