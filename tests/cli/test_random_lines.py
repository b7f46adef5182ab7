"""Whatever is typed, a command ends with a documented code and a sentence, never with a traceback; JSON is JSON.

See `random_lines.py` for what a line may be, and for what is looked at after each.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import palaver
from palaver.cli import exits
from palaver.cli.commands import names
from palaver.cli.ui import jsontext
from palaver.cli.ui.screen import Screen
from palaver.core import digests
from palaver.core.turn import message_input
from tests.postgres.conftest import server
from tests.postgres.server import Given
from tests.postgres.shared import Shared

from . import random_lines
from .random_lines import Failure

__all__ = ["server"]
Break = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worlds") / "furnished"
    folder.mkdir()
    random_lines.furnish(folder)
    return folder


@pytest.mark.parametrize("seed", [1, 2])
def test_no_line_ends_in_a_traceback(furnished: Path, seed: int) -> None:
    assert random_lines.run(seed, 300, furnished) == 300


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 14))
def test_no_line_of_many_ends_in_a_traceback(furnished: Path, seed: int) -> None:
    assert random_lines.run(seed, 500, furnished) == 500


@pytest.fixture(scope="module")
def spaces(server: Shared | Given, furnished: Path) -> Iterator[Callable[[], str]]:
    """An address with a space of its own, each time, that holds what the file holds."""
    database, numbers = server.create_database(), itertools.count()
    with palaver.open(furnished / "talks.db") as source, palaver.open(database, space="template") as target:
        assert palaver.copy(source, target).problems == []

    def new() -> str:
        name = f"world-{next(numbers)}"
        palaver.spaces(database).copy("template", name)
        return f"{database}#{name}"

    yield new
    server.drop_database(database)


def test_no_line_on_a_server_ends_in_a_traceback(furnished: Path, spaces: Callable[[], str]) -> None:
    assert random_lines.run(3, 50, furnished, spaces) == 50


@pytest.mark.long
def test_no_line_of_many_on_a_server_ends_in_a_traceback(furnished: Path, spaces: Callable[[], str]) -> None:
    assert random_lines.run(4, 500, furnished, spaces) == 500


# ---------------------------------------------------------------- it finds what it is there to find


def a_command_divides_by_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(names, "short", lambda some_id: str(1 // 0))


def a_wrong_value_has_a_code_of_its_own(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(exits, "_BY_KIND", ((palaver.BadValue, 7), *exits._BY_KIND))


def json_has_infinities(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(jsontext, "as_json", lambda value: f'{{"value": Infinity, "was": {len(str(value))}}}')


def json_is_for_python(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Screen, "json", lambda self, value: self.say(repr(value)))


def a_summary_is_not_what_its_digest_says(patch: pytest.MonkeyPatch) -> None:
    """No command says a word of it: only `verify` sees it."""
    careless = {"leaf": lambda salt, kind, text: digests.leaf(salt, kind, text + " ")}
    patch.setattr(message_input, "digests", SimpleNamespace(**vars(digests) | careless))


@pytest.mark.planted("json_is_for_python")
@pytest.mark.parametrize(
    ("planted", "found"),
    [
        (a_command_divides_by_nothing, "ended with 1: .*ZeroDivisionError"),
        (a_wrong_value_has_a_code_of_its_own, "ended with 7"),
        (json_has_infinities, "Infinity is no JSON"),
        (json_is_for_python, "printed on stdout"),
        (a_summary_is_not_what_its_digest_says, "is not whole any more"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_planted_bug_is_found(planted: Break, found: str, furnished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch)
    with pytest.raises(Failure, match=f"(?s){found}"):
        random_lines.run(1, 2_000, furnished)
