"""`palaver doctor`: versions, the file and its surroundings, locks and who holds them; what to do about each finding.

It looks from outside first (so it can also say why a store does not open), then from inside.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator

import palaver
from palaver import PalaverError
from palaver.base import address

from ..command import Call, command
from ..exits import OK, PROBLEMS, STORE, hide_secrets
from ..ui.screen import Screen
from ..wording import worded
from . import doctor_file, doctor_server
from .doctor_store import Finding


@command(
    "doctor",
    examples=["palaver doctor", "palaver doctor --store talks.db --json"],
    keys={
        "store": "its path, or its address without passwords",
        "opens": "false: it could not be opened",
        "findings[]": "what was looked at, with:",
        "  check": "version, file, permissions, filesystem, wal, locks, sqlite, schema, sessions, writers …; "
        "on Postgres server, encoding, latency, connections, durability, pooler, space, leases …",
        "  what": "what was found",
        "  ok": "false: there is something to do",
        "  todo": "what to do, or an empty text",
    },
)
def doctor(call: Call) -> int:
    """Look at the store and its surroundings, and say what to do.

    Exit code 1 if there is something to do, 4 if the store cannot be opened."""
    path, space = call.where
    findings = [Finding("version", f"palaver {palaver.__version__}, Python {platform.python_version()}")]
    opens = False
    try:
        for finding in _server(call, path, space) if address.is_server(path) else _file(call, path):
            findings.append(finding)
        opens = findings[-1].check not in ("file", "space")  # the last word: it is not there
    except PalaverError as error:
        findings.append(Finding("open", worded(str(error)), "see the sentence above; nothing was changed"))
    _report(call, hide_secrets(path), opens, findings)
    if not opens:
        return STORE
    return PROBLEMS if any(finding.todo for finding in findings) else OK


def _file(call: Call, path: str) -> Iterator[Finding]:
    last = None
    for last in doctor_file.outside(path):
        yield last
    if last is not None and last.check != "file":
        yield from doctor_file.inside(call.store(readonly=True))


def _server(call: Call, url: str, space: str | None) -> Iterator[Finding]:
    missing = False
    options = {}
    for finding in doctor_server.outside(url, space or "default"):
        missing = finding.check == "space" and bool(finding.todo)
        if finding.check == "pooler" and finding.todo:
            options = {"pooler": True}
        yield finding
    if not missing:
        yield from doctor_server.inside(call.open(url, space, readonly=True, **options))


def _report(call: Call, path: str, opens: bool, findings: list[Finding]) -> None:
    if call.json:
        listed = [{"check": f.check, "what": f.what, "ok": not f.todo, "todo": f.todo} for f in findings]
        call.screen.json({"store": path, "opens": opens, "findings": listed})
        return
    for finding in findings:
        _print(call.screen, finding)


def _print(screen: Screen, finding: Finding) -> None:
    mark, style = ("!!", "bold red") if finding.todo else ("ok", "green")
    screen.say(f"{screen.paint(mark, style)} {finding.check}: {screen.sanitized(finding.what)}")
    if finding.todo:
        screen.say(f"   -> {screen.sanitized(finding.todo)}")
