"""Whether the verbs that the page names write where the page says.

A row that names a verb is tried with it: by the scenario of the verb, where that has something to say about the home,
else by a case generated from the row. Either is done on a fresh store, and only what is at the home after the verb and
was not before counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import palaver

from . import given, homes, marks, verbs
from .homes import Home
from .page import Row
from .scenarios import SCENARIOS, Stage
from .schema import Schema
from .verbs import Call

MEMORY = ":memory:"


class Trial(NamedTuple):
    """One row, and one of the verbs that it names."""

    row: Row
    home: Home
    call: Call


def trials_of(rows: Iterable[Row]) -> dict[str, list[Trial]]:
    """What is to be tried, by verb; what the library does not have yet is not."""
    found: defaultdict[str, list[Trial]] = defaultdict(list)
    for row in rows:
        home = homes.parse(row.home)
        for call in row.writers:
            if home is not None and verbs.is_there(call):
                found[call.verb].append(Trial(row, home, call))
    return dict(found)


class Trying:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._played: dict[str, Played] = {}

    def unwritten(self, trials: Iterable[Trial]) -> list[str]:
        """The rows whose home is not written by the verb that they name. One store does for all generated cases."""
        found = []
        with palaver.open(MEMORY) as store:
            for trial in trials:
                played = self._scenario_for(trial.home, trial.call)
                problem = played.problem(trial) if played else self._generated(store, trial)
                found += [f"{trial.row.key}: {problem}"] if problem else []
        return found

    def is_by_hand(self, row: Row) -> bool:
        """Whether the first of its verbs is tried by a scenario."""
        home, call = homes.parse(row.home), row.writers[0]
        assert home is not None
        if not verbs.is_there(call):
            return str(call) in SCENARIOS
        return self._scenario_for(home, call) is not None

    # ------------------------------------------------------------ by a scenario

    def _scenario_for(self, home: Home, call: Call) -> Played | None:
        """The scenario of a call, if it has something to say about a home. It is played once."""
        name = str(call)
        if name not in SCENARIOS:
            return None
        if name not in self._played:
            self._played[name] = Played(name, self._schema)
        played = self._played[name]
        return played if played.places(home) else None

    # ------------------------------------------------------------ by a generated case

    def _generated(self, store: palaver.Store, trial: Trial) -> str | None:
        if trial.call.verb not in given.GIVERS:
            return f"nothing here knows what {trial.call} writes to {trial.home.place}"
        values = marks.values_for(trial.row, trial.home, trial.call, self._schema)
        return next(filter(None, (self._problem(store, trial, value) for value in values)), None)

    def _problem(self, store: palaver.Store, trial: Trial, value: Any) -> str | None:
        row, home, call = trial
        before = homes.picture(store, [home.table], home.columns)
        try:
            expected = given.GIVERS[call.verb](given.Gift(store, row, home, call, value))
        except (palaver.PalaverError, TypeError) as error:
            return f"{call} refuses {value!r}: {error}"
        new = homes.news(home, before, homes.picture(store, [home.table], home.columns))
        if any(_holds(home, found, expected) for found in new):
            return None
        return f"{call} does not write {expected!r} to {home.place}"


def _holds(home: Home, found: Any, expected: Any) -> bool:
    return expected in found.values() if home.column is None else _fits(expected, found)


def _fits(claim: Any, value: Any) -> bool:
    """True and 1 are two things."""
    return bool(claim(value)) if callable(claim) else homes.text(claim) == homes.text(value)


class Played:
    """A scenario that was played: what it says it wrote, and what is new."""

    def __init__(self, name: str, schema: Schema) -> None:
        self._name = name
        with palaver.open(MEMORY) as store:
            stage = Stage(store, list(schema.tables))
            with stage.clock():
                self._claims = SCENARIOS[name](stage)
            self._before, self._after = stage.before, stage.look()

    def places(self, home: Home) -> list[str]:
        """Where it says something of a home; of a table, of its columns."""
        if home.column is not None:
            return [place for place in self._claims if place == home.place]
        return [place for place in self._claims if place.startswith(f"{home.table}.")]

    def problem(self, trial: Trial) -> str | None:
        for place in self.places(trial.home):
            missing = self._missing(homes.of_place(place)._replace(where=trial.home.where), self._claims[place])
            if missing:
                return f"{self._name} does not write {_said(missing[0])} to {place}"
        word = marks.word_of(trial.row)
        if word is None or trial.home.column is None or any(_is_word(word, new) for new in self._news(trial.home)):
            return None
        return f"{self._name} does not write {word!r} to {trial.home.place}"

    def _missing(self, home: Home, claims: list[Any]) -> list[Any]:
        """What it says it wrote, and did not; two equal values are two."""
        news, missing = self._news(home), []
        for claim in claims:
            met = [value for value in news if _fits(claim, value)][:1]
            missing += [] if met else [claim]
            for value in met:
                news.remove(value)
        return missing

    def _news(self, home: Home) -> list[Any]:
        return homes.news(home, self._before, self._after)


def _said(claim: Any) -> str:
    return f"what is {claim.__name__}" if callable(claim) else repr(claim)


def _is_word(word: str, value: Any) -> bool:
    """A value; or the prefix of one."""
    return value == word or (word.endswith("_") and str(value).startswith(word))
