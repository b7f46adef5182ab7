"""Hermes Agent's sessions on a Palaver store: its `SessionDB`, and its files both ways."""

from __future__ import annotations

from .session_db import SessionDB as SessionDB
