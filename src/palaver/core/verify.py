"""Stub for the first run."""

from ..db.database import Tx
from ..model import Problem


def check(tx: Tx) -> list[Problem]:
    return []


def fix(tx: Tx) -> list[Problem]:
    return []
