"""The command line. A plain `palaver ls` reads the list and loads nothing else, a plain `palaver search` only what it
takes to look; commands come when they are called.

Every way to end becomes an exit code here, in `main`: a person gets one sentence, never a traceback.
"""

from __future__ import annotations

import sys

from palaver.errors import PalaverError

from . import fast_ls
from .exits import INTERRUPTED, STORE, Stop, code_of, hide_secrets, leave_quietly
from .ui.screen import Screen, prepare_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code."""
    prepare_streams()
    given = sys.argv[1:] if args is None else list(args)
    try:
        code = _run(given)
        sys.stdout.flush()
    except BrokenPipeError:
        code = leave_quietly()
    sys.exit(code)


def _run(args: list[str]) -> int:
    try:
        code = fast_ls.run(args)
        if code is None and "search" in (*args[:1], *args[2:3]):
            from . import fast_search

            code = fast_search.run(args)
        if code is None:
            from .program import run

            code = run(args)
        return code
    except Stop as stop:
        return _explain(args, stop.code, str(stop), stop.kind)
    except PalaverError as error:
        return _explain(args, code_of(error), str(error), type(error).__name__)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        return _explain(args, STORE, said, type(error).__name__)


def _explain(args: list[str], code: int, sentence: str, kind: str) -> int:
    """One sentence for a person, one JSON line for a program."""
    from .wording import worded

    sentence = hide_secrets(worded(sentence))
    if "--json" in args:
        from .ui.jsontext import as_json

        sys.stderr.write(as_json({"error": {"kind": kind, "message": sentence, "exit": code}}) + "\n")
    else:
        sys.stderr.write(f"palaver: {Screen(sys.stderr).sanitized(sentence)}\n")
    return code
