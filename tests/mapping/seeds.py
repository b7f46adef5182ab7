"""What the five seeds name, held as data: the list that docs/mapping.md has to cover.

Each seed's own module holds it, written from the seed and never from our code or from the page. The key of a
thing is `seed.prefix.name`; `COUNTS` says beside the lists how many there must be, so that a line lost from a
list is noticed as well as a line lost from the page.
"""

from __future__ import annotations

from . import seed_000, seed_001, seed_002, seed_003, seed_004

CATEGORIES = (
    "tables",
    "columns",
    "fields",
    "values",
    "indexes",
    "constraints",
    "settings",
    "operations",
    "rules",
)

SEEDS = {"000": seed_000, "001": seed_001, "002": seed_002, "003": seed_003, "004": seed_004}

TOTALS = {"000": 242, "001": 299, "002": 197, "003": 126, "004": 312}


def keys_of(seed: str, category: str) -> list[str]:
    """The keys of one category, in the order of the seed."""
    groups = SEEDS[seed].ITEMS[category]
    return [f"{seed}.{prefix}.{name}" for prefix, names in groups.items() for name in names]


def all_keys() -> list[str]:
    return [key for seed in SEEDS for category in CATEGORIES for key in keys_of(seed, category)]
