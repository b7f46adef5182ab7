"""Digests: what makes history provable. This recipe can never change (ADR 1).

leaf = H(salt, role or type, stored JSON bytes); turn = H(tag, parent's digest, kind, leaves in entry order, blob
digests). H is SHA-256 over length-prefixed fields. Leaves hash stored bytes, never a re-encoding; a salt makes a
leaf useless for guessing erased content.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from typing import Any

from ..base.exact_json import LARGE

TAG = b"palaver turn 1"
_SIZES = [size.to_bytes(8, "big") for size in range(256)]  # as digests write them
_SALT = (16).to_bytes(8, "big")  # the length of a salt, as `of` writes it

_salts: list[bytes] = []
os.register_at_fork(after_in_child=_salts.clear)


def new_salt() -> bytes:
    """16 random bytes; drawn by the hundred, one system call for many leaves."""
    try:
        return _salts.pop()
    except IndexError:
        drawn = os.urandom(16 * 128)
        _salts.extend(drawn[at : at + 16] for at in range(16, len(drawn), 16))
        return drawn[:16]


def leaf(salt: bytes, kind: str, stored: str) -> bytes:
    """`kind`: the role of a message (its bytes are its metadata as given) or the type of a part."""
    body, size = bytes_of(stored), _SALT if len(salt) == 16 else len(salt).to_bytes(8, "big")
    head = b"".join((size, salt, _named(kind), len(body).to_bytes(8, "big")))
    if len(body) < LARGE:
        return sha256(head + body).digest()
    hashed = sha256(head)
    hashed.update(body)  # without a copy of it
    return hashed.digest()


def bytes_of(stored: Any) -> bytes:
    """The bytes of a stored value: of a text, or of whatever another program put in its place."""
    if isinstance(stored, str):
        return stored.encode("utf-8", "surrogateescape")
    return stored if isinstance(stored, bytes) else str(stored).encode()


@lru_cache(256)
def _named(kind: str) -> bytes:
    """The field of a role or type."""
    return len(kind.encode()).to_bytes(8, "big") + kind.encode()


def turn(parent: bytes | None, kind: str, leaves: Iterable[bytes], blobs: Iterable[bytes] = ()) -> bytes:
    return of(TAG, parent or b"", kind.encode(), b"".join(leaves), b"".join(blobs))


def of(*fields: bytes) -> bytes:
    """SHA-256 over length-prefixed fields, so that no two lists of fields share their bytes."""
    try:
        return sha256(b"".join([_SIZES[len(f)] + f for f in fields])).digest()
    except IndexError:  # a long one
        return sha256(b"".join([len(f).to_bytes(8, "big") + f for f in fields])).digest()
