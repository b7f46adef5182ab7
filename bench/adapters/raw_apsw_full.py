"""The raw statements on apsw with synchronous=FULL."""

from .raw_apsw import Store as _Raw


class Store(_Raw):
    sync = "FULL"
