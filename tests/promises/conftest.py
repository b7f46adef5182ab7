"""Plants the bug that the environment names, before any promise is tested; a file in which every verb was used."""

from __future__ import annotations

import pytest

import palaver

from ..tools.planting import plant_from_environment

plant_from_environment()


@pytest.fixture
def lived(path: str) -> str:
    """Closed again."""
    from .support_schema import live

    with palaver.open(path) as store:
        live(store)
    return path
