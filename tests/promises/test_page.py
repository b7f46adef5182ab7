"""The page of promises is complete and true: every promise that is kept has a test, and the page names just those."""

from __future__ import annotations

from . import page

KERNEL = {
    *range(1, 21), 22, 23, 26, 28, 34, *range(36, 41), 42, *range(47, 58), 61, 63, 64, *range(67, 73), *range(75, 83),
    *range(84, 90), *range(91, 101), 139, *range(141, 146), 158, 159, 160,
}  # fmt: skip
COMMAND_LINE = {86, 87, 142, 144, 149, 153}
FACTS = {*range(167, 174)}


def problems(text: str, held: dict[int, list[str]]) -> list[str]:
    told = page.rows(text)
    wrong = [f"promise {n} has no row" for n in sorted(set(held) - set(told))]
    wrong += [f"promise {n} has no test" for n in sorted((KERNEL | COMMAND_LINE | FACTS) - set(held))]
    wrong += [f"row {n} does not name its tests" for n, (_, names) in told.items() if names != held.get(n, [])]
    return wrong


def test_the_page_names_exactly_the_tests_there_are() -> None:
    assert problems(page.PAGE.read_text(), page.tests()) == []


def test_a_promise_without_a_test_is_noticed() -> None:
    held = page.tests()
    del held[49]
    assert "promise 49 has no test" in problems(page.PAGE.read_text(), held)


def test_a_row_that_is_left_out_is_noticed() -> None:
    text = "\n".join(line for line in page.PAGE.read_text().splitlines() if not line.startswith("| 49 |"))
    assert "promise 49 has no row" in problems(text, page.tests())
