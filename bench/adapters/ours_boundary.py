"""Palaver as shipped: every boundary survives a power cut. The column to hold against raw_full."""

from .ours import Store as _Ours


class Store(_Ours):
    durability = "boundary"
