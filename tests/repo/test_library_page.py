"""The library page names every public method, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import palaver
from palaver import keywords
from palaver.session_rules import SessionRules

PAGE = (Path(__file__).parent.parent.parent / "docs" / "library.md").read_text()
VALUES = {"Sessions": palaver.SessionInfo, "What was in force": palaver.TurnInfo}
SECTIONS = {"Store": palaver.Store, "Sessions": palaver.Sessions, "Session": palaver.Session, "Turn": palaver.Turn}
INSIDE = {"Store": {"db", "path"}}  # for the layers above, not for users


def section(name: str) -> str:
    return re.split(rf"^## {name}\b.*$", PAGE, flags=re.MULTILINE)[1].split("\n## ")[0]


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


@pytest.mark.parametrize("name", SECTIONS)
def test_every_public_method_is_on_the_page(name: str) -> None:
    text = section(name)
    missing = {m for m in public(SECTIONS[name]) - INSIDE.get(name, set()) if not re.search(rf"`{m}[`(]", text)}
    assert missing == set()


@pytest.mark.parametrize("name", SECTIONS)
def test_the_page_names_nothing_that_is_not_there(name: str) -> None:
    named = set(re.findall(r"`(\w+)\(", section(name).split("\nA message is")[0]))
    values = {"TurnInfo", "Moment", "Page", "Line", "Event", "Problem", "Queued", "Answer", "ToolCall", "UsageEntry"}
    values |= {"Native"}
    assert named <= public(SECTIONS[name]) | values | public(SessionRules) | public(palaver.ToolCall)


@pytest.mark.parametrize("name", VALUES)
def test_every_field_of_a_value_is_on_the_page_and_no_other(name: str) -> None:
    table = section(name).split("| field | what it is |")[1].split("\n\n")[0]
    firsts = re.findall(r"^\|([^|]+)\|", table, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", "".join(firsts))) == sorted(VALUES[name].__struct_fields__)


def test_the_table_of_a_stored_message_has_its_fields_and_no_other() -> None:
    table = PAGE.split("### A stored message")[1].split("\n## ")[0]
    named = re.findall(r"^\| `(\w+)[:(]", table, re.MULTILINE)
    inside = {"add", "mend"}  # for who puts it together
    assert sorted(named) == sorted((public(palaver.StoredMessage) | set(palaver.StoredMessage.__slots__)) - inside)


def test_every_family_of_options_is_on_the_page() -> None:
    families = {name for name in vars(keywords) if name.endswith("Keywords")}
    parts = {"EngineKeywords", "PostgresKeywords", "StoreKeywords"}  # of OpenKeywords
    assert families - parts == set(re.findall(r"`(\w+Keywords)`", section("Types")))
