"""Permissions: rules of a manifest, a project and a session, and whether something may be done under them."""

from .decision import ACTIONS, SOURCES, Answer, check_rule, check_rules, evaluate, usable

__all__ = ["ACTIONS", "SOURCES", "Answer", "check_rule", "check_rules", "evaluate", "usable"]
