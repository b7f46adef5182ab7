"""`update_token_counts`: counts add up, or are set; costs and who is paid are filled in once or kept."""

from __future__ import annotations

from typing import Any

import pytest

from .support import words

COUNTS = words("input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens")


def of(db: Any, *names: str) -> Any:
    row = db.get_session("s")
    return row[names[0]] if len(names) == 1 else [row[name] for name in names]


@pytest.fixture
def db(db: Any) -> Any:
    db.create_session("s", "cli")
    return db


def test_counts_add_up(db: Any) -> None:
    assert db.update_token_counts("s", input_tokens=100, output_tokens=50) is None
    db.update_token_counts("s", input_tokens=200, output_tokens=25)
    assert of(db, *COUNTS) == [300, 75, 0, 0, 0]


@pytest.mark.parametrize("name", COUNTS)
def test_each_count_adds_up_by_itself(db: Any, name: str) -> None:
    db.update_token_counts("s", **{name: 7})
    db.update_token_counts("s", **{name: 5})
    assert of(db, *COUNTS) == [12 if other == name else 0 for other in COUNTS]


def test_counts_may_be_given_in_order(db: Any) -> None:
    db.update_token_counts("s", 1, 2, "m", 3, 4, 5)
    assert of(db, *COUNTS, "model") == [1, 2, 3, 4, 5, "m"]


def test_large_counts_are_exact(db: Any) -> None:
    for _ in range(3):
        db.update_token_counts("s", input_tokens=2**40 + 1)
    assert of(db, "input_tokens") == 3 * (2**40 + 1)


def test_absolute_counts_are_set(db: Any) -> None:
    db.update_token_counts("s", input_tokens=100, output_tokens=50, cache_read_tokens=9)
    db.update_token_counts("s", input_tokens=300, output_tokens=60, reasoning_tokens=4, absolute=True)
    assert of(db, *COUNTS) == [300, 60, 0, 0, 4]


def test_absolute_counts_may_be_smaller(db: Any) -> None:
    db.update_token_counts("s", input_tokens=100)
    db.update_token_counts("s", input_tokens=60, absolute=True)
    assert of(db, "input_tokens") == 60
    db.update_token_counts("s", input_tokens=5)
    assert of(db, "input_tokens") == 65


def test_absolute_twice_is_once(db: Any) -> None:
    for _ in range(2):
        db.update_token_counts("s", input_tokens=10, output_tokens=3, absolute=True)
    assert of(db, *COUNTS) == [10, 3, 0, 0, 0]


def test_counts_of_several_models_add_up_and_can_be_set(db: Any) -> None:
    db.update_token_counts("s", input_tokens=100, model="one")
    db.update_token_counts("s", input_tokens=10, model="two")
    db.update_token_counts("s", input_tokens=1)
    assert of(db, "input_tokens", "model") == [111, "one"]
    db.update_token_counts("s", input_tokens=50, output_tokens=5, model="two", absolute=True)
    assert of(db, *COUNTS, "model") == [50, 5, 0, 0, 0, "one"]
    db.update_token_counts("s", input_tokens=7, model="three")
    assert of(db, "input_tokens") == 57


def test_nothing_is_nothing(db: Any) -> None:
    db.update_token_counts("s", input_tokens=3)
    db.update_token_counts("s")
    assert of(db, *COUNTS) == [3, 0, 0, 0, 0]


def test_the_model_is_filled_in_once(db: Any) -> None:
    db.update_token_counts("s", input_tokens=1)
    assert of(db, "model") is None
    db.update_token_counts("s", input_tokens=1, model="first")
    assert of(db, "model") == "first"
    db.update_token_counts("s", input_tokens=1, model="second")
    assert of(db, "model") == "first"


@pytest.mark.parametrize("absolute", [False, True])
def test_the_model_of_the_session_stays(db: Any, absolute: bool) -> None:
    db.create_session("t", "cli", model="mine")
    db.update_token_counts("t", input_tokens=1, model="other", absolute=absolute)
    assert db.get_session("t")["model"] == "mine"


def test_absolute_counts_fill_in_the_model_too(db: Any) -> None:
    db.update_token_counts("s", input_tokens=1, model="m", absolute=True)
    assert of(db, "model") == "m"


# ---------------------------------------------------------------- costs


def test_before_the_first_call_there_is_no_cost(db: Any) -> None:
    assert of(db, "estimated_cost_usd", "actual_cost_usd", "cost_status") == [None, None, None]


def test_estimated_costs_add_up(db: Any) -> None:
    db.update_token_counts("s", input_tokens=1, estimated_cost_usd=0.25)
    assert of(db, "estimated_cost_usd") == pytest.approx(0.25)
    db.update_token_counts("s", input_tokens=1, estimated_cost_usd=0.5)
    db.update_token_counts("s", input_tokens=1)
    assert of(db, "estimated_cost_usd") == pytest.approx(0.75)
    assert type(of(db, "estimated_cost_usd")) is float


def test_after_a_call_without_an_estimate_the_estimate_is_zero(db: Any) -> None:
    db.update_token_counts("s", input_tokens=1)
    assert of(db, "estimated_cost_usd") == 0
    assert of(db, "actual_cost_usd") is None


def test_actual_costs_add_up_and_are_null_until_there_are_some(db: Any) -> None:
    db.update_token_counts("s", input_tokens=1, estimated_cost_usd=0.25)
    assert of(db, "actual_cost_usd") is None
    db.update_token_counts("s", input_tokens=1, actual_cost_usd=0.125)
    db.update_token_counts("s", input_tokens=1, actual_cost_usd=0.5)
    db.update_token_counts("s", input_tokens=1)
    assert of(db, "actual_cost_usd") == pytest.approx(0.625)


def test_an_actual_cost_of_zero_is_one(db: Any) -> None:
    db.update_token_counts("s", input_tokens=1, actual_cost_usd=0.0)
    assert of(db, "actual_cost_usd") == 0


def test_absolute_costs_are_set(db: Any) -> None:
    db.update_token_counts("s", input_tokens=1, estimated_cost_usd=0.5, actual_cost_usd=0.5)
    db.update_token_counts("s", input_tokens=1, estimated_cost_usd=0.125, actual_cost_usd=0.25, absolute=True)
    assert of(db, "estimated_cost_usd", "actual_cost_usd") == pytest.approx([0.125, 0.25])


def test_absolute_without_costs_sets_the_estimate_to_zero_and_keeps_the_actual(db: Any) -> None:
    db.update_token_counts("s", input_tokens=1, estimated_cost_usd=0.5, actual_cost_usd=0.25)
    db.update_token_counts("s", input_tokens=1, absolute=True)
    assert of(db, "estimated_cost_usd") == 0
    assert of(db, "actual_cost_usd") == pytest.approx(0.25)


def test_many_small_costs_add_up(db: Any) -> None:
    for _ in range(10):
        db.update_token_counts("s", input_tokens=1, estimated_cost_usd=0.0001)
    assert of(db, "estimated_cost_usd") == pytest.approx(0.001)


# ---------------------------------------------------------------- said about costs


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("name", ["cost_status", "cost_source", "pricing_version"])
def test_what_was_said_last_about_the_cost_holds(db: Any, name: str, absolute: bool) -> None:
    db.update_token_counts("s", input_tokens=1, absolute=absolute, **{name: "first"})
    assert of(db, name) == "first"
    db.update_token_counts("s", input_tokens=1, absolute=absolute, **{name: "second"})
    assert of(db, name) == "second"
    db.update_token_counts("s", input_tokens=1, absolute=absolute)
    assert of(db, name) == "second"


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("name", ["billing_provider", "billing_base_url", "billing_mode"])
def test_what_was_said_first_about_the_bill_holds(db: Any, name: str, absolute: bool) -> None:
    db.update_token_counts("s", input_tokens=1, absolute=absolute)
    assert of(db, name) is None
    db.update_token_counts("s", input_tokens=1, absolute=absolute, **{name: "first"})
    assert of(db, name) == "first"
    db.update_token_counts("s", input_tokens=1, absolute=absolute, **{name: "second"})
    assert of(db, name) == "first"


def test_the_whole_bill(db: Any) -> None:
    given = {
        "cost_status": "estimated",
        "cost_source": "table",
        "pricing_version": "2026-04",
        "billing_provider": "openrouter",
        "billing_base_url": "https://openrouter.ai/api/v1",
        "billing_mode": "api_key",
    }
    db.update_token_counts("s", input_tokens=1, model="m", estimated_cost_usd=0.5, **given)
    row = db.get_session("s")
    assert {name: row[name] for name in given} == given


# ---------------------------------------------------------------- and nothing else


def test_counts_of_one_session_are_not_those_of_another(db: Any) -> None:
    db.create_session("t", "cli")
    db.update_token_counts("s", input_tokens=5)
    db.update_token_counts("t", input_tokens=7)
    assert db.get_session("s")["input_tokens"] == 5
    assert db.get_session("t")["input_tokens"] == 7


def test_counts_survive_an_end_and_cleared_messages(db: Any) -> None:
    db.append_message("s", "user", "x", token_count=99)
    db.update_token_counts("s", input_tokens=5, model="m")
    db.end_session("s", "x")
    db.update_token_counts("s", input_tokens=2)
    db.clear_messages("s")
    assert of(db, "input_tokens", "message_count", "end_reason", "model") == [7, 0, "x", "m"]


def test_tokens_of_a_deleted_session_are_not_those_of_the_next(db: Any) -> None:
    db.update_token_counts("s", input_tokens=5, model="m", estimated_cost_usd=1.0, billing_provider="p")
    db.delete_session("s")
    db.create_session("s", "cli")
    assert of(db, *COUNTS) == [0] * 5
    assert of(db, "model", "estimated_cost_usd", "billing_provider") == [None] * 3
    db.update_token_counts("s", input_tokens=2)
    assert of(db, "input_tokens") == 2


def test_counting_is_no_message(db: Any) -> None:
    db.update_token_counts("s", input_tokens=5, output_tokens=5)
    assert db.get_messages("s") == []
    assert of(db, "message_count", "tool_call_count") == [0, 0]
