"""docs/mapping.md covers the five seeds: nothing unmapped, nothing mapped to nothing."""

from __future__ import annotations

import re

import pytest

from . import schema as our
from . import verbs
from .page import CAPABILITIES, HEADER, NOT_YET, PAGE, PLANNED, STORED, problems, rows_of
from .seed_000 import CONTRACT, CONTRACT_INDEXES, CONTRACT_KEYS
from .seeds import CATEGORIES, SEEDS, TOTALS, all_keys, keys_of


@pytest.fixture(scope="module")
def schema() -> our.Schema:
    return our.load()


@pytest.fixture(scope="module")
def text() -> str:
    return PAGE.read_text("utf-8")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_lists_have_as_many_items_as_the_seed(seed: str) -> None:
    counted = {category: len(keys_of(seed, category)) for category in CATEGORIES}
    assert counted == SEEDS[seed].COUNTS
    assert sum(counted.values()) == TOTALS[seed]


def test_the_lists_name_nothing_twice() -> None:
    keys = all_keys()
    assert len(keys) == len(set(keys)) == 1176


def test_the_page_maps_everything_to_something_that_exists(text: str, schema: our.Schema) -> None:
    assert problems(text, schema) == []


def test_the_explanation_is_short(text: str) -> None:
    assert text[: text.index("## Seed 000")].count("\n") <= 60


# The contract half of the schema is seed 000, column for column.


@pytest.mark.parametrize("table", CONTRACT)
def test_a_contract_table_is_the_seeds_table(table: str, schema: our.Schema) -> None:
    assert tuple(schema.tables[table]) == CONTRACT[table]
    assert tuple(schema.keys[table]) == CONTRACT_KEYS[table]


@pytest.mark.parametrize("table", CONTRACT)
def test_a_contract_table_has_the_required_indexes(table: str, schema: our.Schema) -> None:
    indexed = {columns for owner, columns in schema.indexes.values() if owner == table}
    assert set(CONTRACT_INDEXES[table]) <= indexed


def test_nothing_ties_the_contract_to_the_sidecar(schema: our.Schema) -> None:
    assert schema.triggers == []
    sidecar = schema.tables.keys() - CONTRACT.keys()
    assert {table: schema.keys[table] for table in sidecar if schema.keys[table]} == {}


# Planted holes: the checks above would notice.


def line_of(text: str, key: str) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith(f"| `{key}` |")]
    return line


def with_home(text: str, key: str, home: str) -> str:
    written = "`session.turn(workspace=)` " if home.startswith(STORED) else ""
    return text.replace(line_of(text, key), f"| `{key}` | {home} | {written}| |")


@pytest.mark.parametrize("key", [keys_of(seed, name)[0] for seed in SEEDS for name in ("columns", "rules")])
def test_a_missing_row_is_noticed(key: str, text: str, schema: our.Schema) -> None:
    holed = text.replace(line_of(text, key) + "\n", "")
    assert problems(holed, schema) == [f"{key}: no row"]


def test_every_missing_row_is_noticed(schema: our.Schema) -> None:
    found = set(problems("", schema))
    assert {f"{key}: no row" for key in all_keys()} <= found


def test_a_repeated_row_is_noticed(text: str, schema: our.Schema) -> None:
    line = line_of(text, "000.chat_sessions.agent") + "\n"
    assert problems(text.replace(line, line * 2), schema) == ["000.chat_sessions.agent: 2 rows"]


def test_a_row_for_nothing_is_noticed(text: str, schema: our.Schema) -> None:
    line = line_of(text, "004.invariant.9")
    extra = line.replace("004.invariant.9", "004.invariant.10")
    assert problems(text.replace(line, f"{line}\n{extra}"), schema) == ["004.invariant.10: not a thing of the seeds"]


def test_a_row_without_a_key_is_noticed(text: str, schema: our.Schema) -> None:
    holed = text.replace(HEADER, f"{HEADER}\n| something | column `heads.title` | `session.title` | |", 1)
    assert len(problems(holed, schema)) == 1


@pytest.mark.parametrize(
    "home",
    [
        "",
        "somewhere",
        "derived",
        "derived: somehow",
        "derived: from `headz`",
        "kernel: it just works",
        "kernel: by `session.magic()`",
        "dialect hub: somehow",
        "dialect klingon: from `turns`",
        "column",
        "column `chat_sessions.no_such_column`",
        "column `no_such_table.id`",
        "column `turns`",
        "column `turns.parent_id` at `/inside`",
        "table `no_such_table`",
        "index `no_such_index`",
        "not yet: somebody brings it",
        "not yet (magic): somebody brings it",
        "not yet (ledger):",
        "not yet (ledger): an index on `turns.no_such_column`",
        "not yet (lash dialect): see `003.type.NoSuchType`",
        "kernel: `store.gc(…)`",
        "kernel: `palaver gc`",
        "table `natives`",
        "column `heads.title`, else in `natives`",
    ],
)
def test_a_home_that_is_none_is_noticed(home: str, text: str, schema: our.Schema) -> None:
    key = "004.turns.workspace_path"
    found = problems(with_home(text, key, home), schema)
    assert found and all(problem.startswith(f"{key}: ") for problem in found)


def test_a_home_is_judged_by_the_schema_not_by_its_looks(text: str) -> None:
    sql = our.SCHEMA_SQL.read_text("utf-8")
    assert "thread_tokens " in sql
    changed = our.load(sql.replace("thread_tokens ", "thread_tokenz "))
    found = problems(text, changed)
    assert any(problem.startswith("004.threads.total_tokens: ") for problem in found)


def test_a_step_that_is_called_by_its_number_is_noticed(text: str, schema: our.Schema) -> None:
    line = line_of(text, "000.chat_sessions.agent")
    changed = line.removesuffix("|") + "comes with step 7 |"
    assert problems(text.replace(line, changed), schema) == [f"a step by its number: {changed}"]


def test_what_is_planned_is_not_there() -> None:
    calls = [verbs.parse(name) for name in PLANNED if "." in name]
    assert [call for call in calls if call is None or verbs.is_there(call)] == []


def test_the_legend_names_every_capability_that_is_missing(text: str) -> None:
    legend = " ".join(text[: text.index("## Seed 000")].split())
    named = re.search(r"Capabilities that are not there yet: (.*?)\.", legend)
    assert named and set(named[1].split(", ")) == CAPABILITIES
    assert set(filter(None, NOT_YET.findall(text))) - {"c"} == CAPABILITIES


def test_a_wrong_count_on_the_page_is_noticed(text: str, schema: our.Schema) -> None:
    changed = text.replace("| 004 ledger | 11 |", "| 004 ledger | 12 |")
    assert problems(changed, schema) == ["the table of counts is wrong for seed 004"]


def test_rows_are_read_with_their_four_cells(text: str) -> None:
    rows, odd = rows_of(text)
    assert odd == []
    assert rows[0] == (
        "000",
        "000.table.chat_sessions",
        "table `chat_sessions`",
        "`sessions.create`",
        "exactly the seed's columns",
    )
