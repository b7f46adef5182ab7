"""Search beside plain FTS5 tables of the same texts: pages, the index, and what it costs who appends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from .. import texts
from ..columns import Column, Failed
from ..lab import Results
from .cold import with_bytecode
from .searching import KINDS, SLICES

if TYPE_CHECKING:
    from ..lab import Lab

OURS, RAW = "ours_unindexed", "raw_fts5"
APPENDING = ("ours", "ours_unindexed")
WORDS = "document_words_"
LABELS = {
    "everywhere": "a word of every third document",
    "common": "a common word",
    "rare": "a rare word",
    "phrase": "a phrase",
    "prefix": "a prefix",
    "substring": "a piece of a Chinese run",
    "newest": "a common word, newest first",
}


def run(lab: Lab) -> None:
    with lab.columns(OURS, RAW) as (ours, raw):
        characters = fill_and_build(lab, ours, raw)
        measure_sizes(lab, ours, raw, characters)
        lab.fact("merged and compared by maintenance in", "s", ours=ours("searching.tend")["seconds"])
        ask(lab, ours, raw)
        start(lab, ours)
        ask_after_import(lab, ours, raw)
        measure_memory(lab, ours)
    with lab.columns(*APPENDING) as columns:
        found = lab.blocks(columns, "searching.append", lab.scale.searches, seconds=2.5)
    lab.versus("search.append.p50", found, "p50", *APPENDING)
    lab.versus("search.append.mean", found, "mean", *APPENDING)
    lab.facts("turns that were not indexed yet after 2.5 s of appends", "", found, "left", ours="ours")


def fill_and_build(lab: Lab, ours: Column, raw: Column) -> int:
    count, characters = lab.scale.texts, 0
    for piece in range(SLICES):
        characters += ours("searching.fill", count=count, piece=piece)["characters"]
    jobs = {
        "ours": lambda piece: ours("searching.build", count=count, piece=piece),
        "raw": lambda piece: raw("searching.build_raw", count=count, piece=piece),
    }
    lab.versus("search.build", lab.interleave(jobs, SLICES), "rate", "ours", "raw", by=1e-6)
    return characters


def measure_sizes(lab: Lab, ours: Column, raw: Column, characters: int) -> None:
    mine, theirs = ours("searching.sizes"), raw("searching.sizes")
    plain = sum(size for name, size in theirs.items() if name.startswith("plain_") and name != "plain_content")
    trigrams = sum(size for name, size in theirs.items() if name.startswith("trigrams_") and name != "trigrams_content")
    results = Results()
    results.given = {
        "ours": [{"size": sum(size for name, size in mine.items() if name.startswith(WORDS)) / characters}],
        "raw": [{"size": plain / characters}],
    }
    lab.figure("search.size", results, "size", "ours", "raw")
    documents = sum(size for name, size in mine.items() if name.startswith("documents"))
    lab.fact("`documents` and its indexes, per character", "bytes", ours=documents / characters)
    lab.fact("an index of trigrams, per character", "bytes", raw=trigrams / characters)


# ---------------------------------------------------------------- pages


def ask(lab: Lab, ours: Column, raw: Column) -> None:
    beside = raw("searching.path")["path"]
    found = lab.blocks([ours], "searching.block", kinds=list(KINDS), raw=beside)
    for kind in KINDS:
        lab.versus(f"search.{kind}", found, kind, OURS, OURS, against=f"raw_{kind}", peers=False)
        lab.figure(f"search.page.{kind}", found, f"more_{kind}", OURS, OURS, against=f"page_{kind}")
    for kind, matching in raw("searching.counts").items():
        lab.fact(f"documents with {LABELS[kind]}", "", raw=matching)


def ask_after_import(lab: Lab, ours: Column, raw: Column) -> None:
    ours("searching.graft_old", count=lab.scale.texts)
    found = lab.blocks([ours], "searching.block", kinds=["newest"], raw=raw("searching.path")["path"])
    lab.versus("search.newest_after_import", found, "newest", OURS, OURS, against="raw_newest", peers=False)


# ---------------------------------------------------------------- whole programs


def start(lab: Lab, ours: Column) -> None:
    """`palaver search` beside `palaver ls`, from start to finish."""
    store = [os.path.join(os.path.dirname(sys.executable), "palaver"), "--store", ours("searching.path")["path"]]
    jobs = {
        "search": lambda repeat: timed([*store, "search", texts.RARE]),
        "ls": lambda repeat: timed([*store, "ls"]),
    }
    lab.interleave(jobs, repeats=2)  # warm
    lab.versus("search.cold", lab.interleave(jobs, lab.scale.cold), "ms", "search", "ls")


def timed(command: list[str]) -> dict[str, float]:
    began = time.perf_counter()
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=60, env=with_bytecode())
    spent = time.perf_counter() - began
    if done.returncode:
        raise Failed(done.stderr[-200:])
    return {"ms": spent * 1e3}


def measure_memory(lab: Lab, ours: Column) -> None:
    """Beyond what the same takes in an empty store. The last of all, as it builds the index once more."""
    full = ours("searching.path")["path"]
    for what in ("search", "build"):
        results = Results()
        results.given = {
            "ours": [{"mb": peak(what, full) - peak(what, full + ".empty")}],
            "raw": [{"mb": peak(what, full + ".empty")}],
        }
        lab.figure(f"search.memory.{what}", results, "mb", "ours", "raw")


def peak(what: str, path: str) -> float:
    command = [sys.executable, "-m", "bench.searches", what, path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1_200)
    if done.returncode:
        raise Failed(done.stderr[-200:])
    return int(done.stdout) / 1024
