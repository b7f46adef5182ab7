"""The lab: starts columns, interleaves their blocks, and takes every ratio inside a repeat.

A noisy machine disturbs neighbours in time alike, so the ratio of two blocks that ran next to each other says more
than either figure. A row is the median of those ratios, with the least and the greatest beside it.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import apsw

from .columns import Column, Failed
from .disk import fsync_us
from .scale import Scale
from .targets import TARGETS, Target

Block = Callable[[int], dict[str, Any]]


class Results:
    """What each job gave, repeat by repeat; a job that failed once is dropped and its error kept."""

    def __init__(self) -> None:
        self.given: dict[str, list[dict[str, Any]]] = {}
        self.errors: dict[str, str] = {}

    def values(self, job: str, field: str, by: float = 1.0) -> list[float]:
        if job in self.errors:
            raise Failed(f"{job}: {self.errors[job]}")
        return [one[field] * by for one in self.given[job]]


class Lab:
    def __init__(self, scale: Scale, out: Path, *, peers: list[str], as_shipped: bool) -> None:
        self.scale, self.out, self.peers, self.as_shipped = scale, out, peers, as_shipped
        self.found: dict[str, Any] = {
            "when": time.strftime("%Y-%m-%d %H:%M"),
            "machine": _machine(),
            "scale": scale._asdict(),
            "rows": {},
            "facts": [],
            "peers": {},
            "missing": {},
            "errors": {},
            "seconds": {},
            "fsync": {},
        }

    def run(self, name: str, workload: Callable[[Lab], None]) -> None:
        """One workload; whatever goes wrong in it, the others are kept and go on."""
        began, before = time.perf_counter(), fsync_us()
        try:
            workload(self)
        except Exception as error:
            self.found["errors"][name] = repr(error)[:500]
            print(f"{name}: {error!r}"[:500], file=sys.stderr)
        self.found["fsync"][name] = [before, fsync_us()]
        self.found["seconds"][name] = round(time.perf_counter() - began, 1)
        print(f"{name} took {self.found['seconds'][name]} s", file=sys.stderr, flush=True)
        self.out.write_text(json.dumps(self.found, indent=1))

    # ------------------------------------------------------------ columns

    @contextmanager
    def columns(self, *names: str, peers_that: str | None = None) -> Iterator[list[Column]]:
        """Fresh processes in a folder of their own, gone afterwards; with the peers that can do this workload."""
        root, started = tempfile.mkdtemp(prefix="bench-"), list[Column]()
        try:
            for name in names:
                started.append(Column(name, root))
            for name in self.peers if peers_that else ():
                self._start_peer(name, root, peers_that, started)
            yield started
        finally:
            for column in started:
                column.stop()
            shutil.rmtree(root, ignore_errors=True)

    def _start_peer(self, name: str, root: str, what: str | None, started: list[Column]) -> None:
        try:
            column = Column(name, root, equal=not self.as_shipped)
        except Failed as error:
            self.found["missing"][name] = str(error)
            return
        if column.missing or what not in column.can:
            column.stop()
            if column.missing:
                self.found["missing"][name] = f"not installed ({column.missing})"
            return
        started.append(column)

    # ------------------------------------------------------------ blocks

    def interleave(self, jobs: dict[str, Block], repeats: int | None = None) -> Results:
        results = Results()
        results.given = {name: [] for name in jobs}
        names = list(jobs)
        for repeat in range(repeats or self.scale.repeats):
            turned = repeat % len(names)
            for name in names[turned:] + names[:turned]:
                if name in results.errors:
                    continue
                try:
                    results.given[name].append(jobs[name](repeat))
                except Failed as error:
                    results.errors[name] = str(error)
        return results

    def blocks(self, columns: list[Column], op: str, repeats: int | None = None, **given: Any) -> Results:
        """The same block on every column."""
        return self.interleave({c.name: _asking(c, op, given) for c in columns}, repeats)

    # ------------------------------------------------------------ rows

    def versus(
        self,
        key: str,
        results: Results,
        field: str,
        ours: str,
        raw: str,
        *,
        against: str | None = None,
        by: float = 1.0,
        tag: str = "",
        peers: bool = True,
    ) -> None:
        """A row: a field of this job against the same (or another) of that one; and every peer that was there."""
        try:
            base = results.values(raw + tag, against or field, by)
            found = _summary(results.values(ours + tag, field, by), base)
        except Failed as error:
            self.found["rows"][key] = {"error": str(error)[:200]}
            return
        self.found["rows"][key] = found | {"verdict": _verdict(TARGETS[key], found)}
        for name in self.peers if peers else ():
            job = name + tag
            if job in results.errors:
                self.found["peers"].setdefault(key, {})[name] = {"error": results.errors[job][:120]}
            elif results.given.get(job):
                self.found["peers"].setdefault(key, {})[name] = _summary(results.values(job, field, by), base)

    def worst(self, key: str, results: Results, field: str, ours: str, raw: str, *, by: float = 1.0) -> None:
        """The greatest of all repeats; what counts is the figure itself."""
        try:
            found = {name: max(results.values(job, field, by)) for name, job in (("ours", ours), ("raw", raw))}
        except Failed as error:
            self.found["rows"][key] = {"error": str(error)[:200]}
            return
        self.found["rows"][key] = found | {"verdict": _verdict(TARGETS[key], found)}

    def figure(
        self, key: str, results: Results, field: str, ours: str, raw: str, *, against: str | None = None
    ) -> None:
        """The median of a field; what counts is the figure itself, and something stands beside it."""
        try:
            found = {"ours": median(results.values(ours, field)), "raw": median(results.values(raw, against or field))}
        except Failed as error:
            self.found["rows"][key] = {"error": str(error)[:200]}
            return
        self.found["rows"][key] = found | {"verdict": _verdict(TARGETS[key], found)}

    def fact(self, label: str, unit: str, **columns: float) -> None:
        """A figure that is counted, or that nothing is promised about."""
        self.found["facts"].append({"label": label, "unit": unit, **columns})

    def facts(self, label: str, unit: str, results: Results, field: str, *, by: float = 1.0, **jobs: str) -> None:
        """The median of a field, for every job that has one."""
        there = {side: job for side, job in jobs.items() if job not in results.errors and results.given.get(job)}
        self.fact(label, unit, **{side: median(results.values(job, field, by)) for side, job in there.items()})


def _asking(column: Column, op: str, given: dict[str, Any]) -> Block:
    return lambda repeat: column(op, repeat=repeat, **given)


def _summary(ours: list[float], raw: list[float]) -> dict[str, float]:
    ratios = [mine / theirs for mine, theirs in zip(ours, raw, strict=True)]
    return {
        "ours": median(ours),
        "raw": median(raw),
        "ratio": median(ratios),
        "min": min(ratios),
        "max": max(ratios),
        "repeats": len(ratios),
    }


def _verdict(target: Target, found: dict[str, float]) -> str:
    if target.limit is None:
        return ""
    value = found[target.judged]
    if target.sense == "<=":
        return "ok" if value <= target.limit else "over"
    return "ok" if value >= target.limit else "under"


def _machine() -> str:
    return (
        f"{os.cpu_count()} cores, Python {platform.python_version()}, "
        f"SQLite {apsw.sqlite_lib_version()} (apsw), {sqlite3.sqlite_version} (raw)"
    )
