"""Planted bugs: of each checker one is shown to be found by `make test`, all of them by `make test-long`.

`@pytest.mark.planted("name", …)` stands on a test with a parameter for each bug: those that stay in `make test`.
"""

from __future__ import annotations

from collections import defaultdict

import pytest


def mark_long(config: pytest.Config, items: list[pytest.Item]) -> None:
    staying: defaultdict[str, int] = defaultdict(int)
    for item in items:
        marker = item.get_closest_marker("planted")
        if marker is None:
            continue
        stays = any(name in item.name for name in marker.args)
        staying[item.nodeid.partition("[")[0]] += stays
        if not stays:
            item.add_marker(pytest.mark.long)
    lost = [name for name, count in staying.items() if count == 0]
    if lost and not any("::" in given for given in config.args):  # who asks for one bug has no other here
        raise pytest.UsageError(f"planted() names no bug of {', '.join(lost)}")
