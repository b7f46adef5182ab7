"""Identifiers: prefix + 14 hex digits of (ms * 4096 + counter) + 12 random base62 = 30 characters.

The seed's 12 hex digits hold 48 of the 53 bits that the stamp needs, and wrapped on 2026-08-14; 14 last
to the year 2527. Within a process a stamp never goes back, whatever the clock does. Nothing orders by id:
the order of record is (depth, entry seq, part index); ids only agree with it.
"""

from __future__ import annotations

import os
import re
import threading

from .clock import now_ms

SESSION, MESSAGE, PART, TURN = "ses_", "msg_", "prt_", "trn_"
LENGTH = 30
_PER_MS = 4096
_DAY = 86_400_000
_BASE62 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TABLE = bytes(_BASE62[byte % 62] for byte in range(256))
_TAILS = 512  # random tails drawn at once: one system call for many ids
_SHAPE = re.compile(r"(?:ses|msg|prt|trn)_[0-9a-f]{12}[0-9A-Za-z]{14}", re.ASCII)

_lock = threading.Lock()
_last = 0
_tails: list[str] = []


def mint(prefix: str, now: int | None = None) -> str:
    """A new id that sorts after every id this process minted before."""
    global _last
    stamp = (now_ms() if now is None else now) * _PER_MS
    with _lock:
        _last = stamp = stamp if stamp > _last else _last + 1
        if not _tails:
            _draw()
        tail = _tails.pop()
    return f"{prefix}{stamp:014x}{tail}"


def observe(other: str) -> None:
    """Mint after this id too, though another process minted it. A stamp from a clock gone wild is not followed."""
    global _last
    try:
        stamp = int(other[4:18], 16)
    except ValueError:  # a foreign id
        return
    with _lock:
        if _last < stamp < (now_ms() + _DAY) * _PER_MS:
            _last = stamp


def stamp_of(minted: str) -> int | None:
    """The time in an id, in ms; None: it is none of ours."""
    try:
        return int(minted[4:18], 16) // _PER_MS
    except ValueError:
        return None


def is_ours(prefix: str, candidate: object) -> bool:
    """Well-formed by the contract (either stamp width): may be used as a row id if it is free."""
    return (
        isinstance(candidate, str)
        and len(candidate) == LENGTH
        and candidate.startswith(prefix)
        and _SHAPE.fullmatch(candidate) is not None
    )


def _draw() -> None:
    text = os.urandom(12 * _TAILS).translate(_TABLE).decode()
    _tails.extend(text[at : at + 12] for at in range(0, len(text), 12))


def _after_fork() -> None:
    """A forked child must not hand out its parent's tails, nor wait for a lock nobody will release."""
    global _lock
    _lock = threading.Lock()
    _tails.clear()


os.register_at_fork(after_in_child=_after_fork)
