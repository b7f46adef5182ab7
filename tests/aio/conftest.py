"""Threads that were there before a test are not its own."""

from __future__ import annotations

import threading

import pytest

from . import support


@pytest.fixture(autouse=True)
def _threads_before() -> None:
    support.BEFORE = set(threading.enumerate())
