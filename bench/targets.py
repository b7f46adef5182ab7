"""What is promised, row by row, in the order of the last table. `normal` is held against raw SQLite at
synchronous=NORMAL, `boundary` (the default) against raw SQLite at FULL, `own` against another size of itself,
`postgres` against plain psycopg that writes the same rows, `search` against plain FTS5 tables of the same texts,
`search_postgres` against a GIN index on the same texts."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    label: str
    limit: float | None = None
    sense: str = "<="
    unit: str = "µs"
    judged: str = "ratio"  # or "ours": the figure itself


TARGETS = {
    "normal.append.p50": Target("append one message, p50", 1.8),
    "normal.append.mean": Target("append one message, mean", 1.8),
    "normal.append.engine": Target("of an append, what SQLite itself takes, p50"),
    "normal.append.deep": Target("append at {deep:,} messages, p50", 1.8),
    "own.append.flat": Target("append at {deep:,} messages vs in a new store, p50", 1.25),
    "normal.turn.p50": Target("turn: begin, 5 chunks, seal vs two raw appends, p50", 1.8),
    "normal.turn.mean": Target("turn: begin, 5 chunks, seal vs two raw appends, mean", 1.8),
    "normal.turn.engine": Target("of a turn, what SQLite itself takes, p50"),
    "normal.commit.p50": Target("turn as one commit vs two raw appends, p50", 1.8),
    "normal.commit.mean": Target("turn as one commit vs two raw appends, mean", 1.8),
    "normal.chunk.1000": Target("streamed chunk at 1 KB, p50", 1.0),
    "normal.chunk.engine": Target("of a chunk at 1 KB, what SQLite itself takes, p50"),
    "normal.chunk.10000": Target("streamed chunk at 10 KB, p50", 0.35),
    "normal.chunk.100000": Target("streamed chunk at 100 KB, p50", 0.1),
    "normal.chunk.1000000": Target("streamed chunk at 1 MB, p50"),
    "own.chunk.burst": Target("chunk at 1 MB vs own 1 KB, burst of 100, p50", 1.5),
    "own.chunk.burst_mean": Target("chunk at 1 MB vs own 1 KB, burst of 100, mean"),
    "own.paced.time": Target("chunk at 1 MB vs own 1 KB at 60/s, mean", 10),
    "own.paced.bytes": Target("written per chunk at 1 MB vs own 1 KB at 60/s", 10, unit="kB"),
    "normal.stream": Target("whole stream of {stream:,} chunks, per chunk"),
    "normal.load": Target("load {messages:,} messages of 5 parts", 0.9, unit="ms"),
    "normal.list": Target("list 50 of {sessions:,} sessions", 0.4, unit="ms"),
    "own.facts.most": Target("list by a fact that 90 % of {sessions:,} sessions have vs the plain list", 3, unit="ms"),
    "own.facts.tenth": Target("list by a fact that 9 % of {sessions:,} sessions have vs the plain list", 3, unit="ms"),
    "own.facts.hundredth": Target(
        "list by a fact that 1 % of {sessions:,} sessions have vs the plain list", 3, unit="ms"
    ),
    "own.facts.thousandth": Target(
        "list by a fact that 0.1 % of {sessions:,} sessions have vs the plain list", 3, unit="ms"
    ),
    "own.facts.three": Target(
        "list by a fact that three of {sessions:,} sessions have vs the plain list", 3, unit="ms"
    ),
    "normal.fork": Target("fork in the middle of 2,000 messages", 0.2, unit="ms"),
    "normal.fork.known": Target("fork vs a raw fork that is told the message's id", unit="ms"),
    "normal.graft": Target("graft of {grafted:,} turns vs raw inserts of the same rows, per turn", 3.3),
    "own.hermes.append": Target("Hermes: append_message vs commit, mean", 1.43),
    "own.hermes.mix": Target("Hermes: question, call, result, answer, per row vs commit, mean", 2),
    "own.hermes.search": Target("Hermes: search_messages vs store.search, a page of 20", 1.2, unit="ms"),
    "own.hermes.rich": Target(
        "Hermes: list_sessions_rich of {sessions:,} vs sessions.list, a page of 20", 3, unit="ms"
    ),
    "own.hermes.storm": Target("Hermes: 8 processes, worst wait vs commits", 2, unit="ms"),
    "normal.storm.rate": Target("8 processes, messages/s", 0.9, ">=", "/s"),
    "normal.storm.worst": Target("8 processes, worst wait", 100, unit="ms", judged="ours"),
    "normal.cold": Target("import + open + read one session", 1.5, unit="ms"),
    "boundary.append.p50": Target("append one message, p50", 1.5),
    "boundary.append.mean": Target("append one message, mean", 1.5),
    "boundary.turn.p50": Target("turn: begin, 5 chunks, seal vs two raw appends, p50", 1.6),
    "boundary.turn.mean": Target("turn: begin, 5 chunks, seal vs two raw appends, mean", 1.6),
    "boundary.commit.p50": Target("turn as one commit vs two raw appends, p50", 1.0),
    "boundary.commit.mean": Target("turn as one commit vs two raw appends, mean", 1.0),
    "boundary.storm.rate": Target("8 processes, messages/s", 0.8, ">=", "/s"),
    "boundary.storm.worst": Target("8 processes, worst wait", unit="ms", judged="ours"),
    "boundary.streams": Target("32 streams at once, chunks/s vs raw FULL that commits each", 5, ">=", "/s"),
    "boundary.streams.full": Target("the same at `full`, chunks/s vs raw FULL that commits each", None, ">=", "/s"),
    "boundary.streams.in_threads": Target("32 threads, chunks/s vs raw FULL that commits each", None, ">=", "/s"),
    "boundary.streams.threads": Target("32 threads at `full`, chunks/s vs 32 raw threads in turn", None, ">=", "/s"),
    "postgres.append.p50": Target("append one message, p50", 1.5),
    "postgres.append.mean": Target("append one message, mean", 1.5),
    "postgres.streams": Target("32 streams at once, chunks/s vs 32 connections, a statement per chunk", 3, ">=", "/s"),
    "postgres.streams.in_threads": Target("32 threads, chunks/s vs the same", None, ">=", "/s"),
    "postgres.flat": Target("chunk at 1 MB vs own 1 KB, p50", 1.5),
    "postgres.load": Target("load {messages:,} messages of 5 parts", 1.5, unit="ms"),
    "postgres.list": Target("list 50 sessions", 1.5, unit="ms"),
    "postgres.facts.most": Target("list by a fact that 90 % of {sessions:,} have vs own plain list", 3, unit="ms"),
    "postgres.facts.tenth": Target("list by a fact that 9 % of {sessions:,} have vs own plain list", 3, unit="ms"),
    "postgres.facts.hundredth": Target("list by a fact that 1 % of {sessions:,} have vs own plain list", 3, unit="ms"),
    "postgres.facts.thousandth": Target(
        "list by a fact that 0.1 % of {sessions:,} have vs own plain list", 3, unit="ms"
    ),
    "postgres.facts.three": Target("list by a fact that three of {sessions:,} have vs own plain list", 3, unit="ms"),
    "postgres.spaces": Target("open and list one of {spaces:,} spaces vs the only one", 2, unit="ms"),
    "search.everywhere": Target("ids of a page: a word of every third document", unit="ms"),
    "search.common": Target("ids of a page: a common word", 1.2, unit="ms"),
    "search.rare": Target("ids of a page: a rare word", 1.2, unit="ms"),
    "search.phrase": Target("ids of a page: a phrase", 1.2, unit="ms"),
    "search.prefix": Target("ids of a page: a prefix", 1.2, unit="ms"),
    "search.substring": Target("ids of a page: a piece of a Chinese run vs trigrams", 1.2, unit="ms"),
    "search.newest": Target("ids of a page: a common word, newest first", 2, unit="ms"),
    "search.newest_after_import": Target("the same after an import of old sessions", unit="ms"),
    "search.page.everywhere": Target(
        "the whole page beyond its ids: a word of every third document", 5, unit="ms", judged="ours"
    ),
    "search.page.common": Target("the whole page beyond its ids: a common word", 5, unit="ms", judged="ours"),
    "search.page.rare": Target("the whole page beyond its ids: a rare word", 5, unit="ms", judged="ours"),
    "search.page.phrase": Target("the whole page beyond its ids: a phrase", 5, unit="ms", judged="ours"),
    "search.page.prefix": Target("the whole page beyond its ids: a prefix", 5, unit="ms", judged="ours"),
    "search.page.substring": Target(
        "the whole page beyond its ids: a piece of a Chinese run", 5, unit="ms", judged="ours"
    ),
    "search.page.newest": Target(
        "the whole page beyond its ids: a common word, newest first", 5, unit="ms", judged="ours"
    ),
    "search.build": Target("index {texts:,} messages, characters/s", 0.3, ">=", "M/s"),
    "search.size": Target("index of words, per character", 1, unit="bytes", judged="ours"),
    "search.append.p50": Target("append, p50, vs a store that never indexes", 1.15),
    "search.append.mean": Target("append, mean, while the job indexes, vs a store that never indexes", 1.5),
    "search.memory.search": Target(
        "peak of memory of searches, beyond that in an empty store", 150, unit="MB", judged="ours"
    ),
    "search.memory.build": Target(
        "peak of memory of `reindex`, beyond that in an empty store", 150, unit="MB", judged="ours"
    ),
    "search.cold": Target("`palaver search` vs `palaver ls`, start to finish", 3, unit="ms"),
    "search_postgres.everywhere": Target("ids of a page: a word of every third document", unit="ms"),
    "search_postgres.common": Target("ids of a page: a common word", 1.5, unit="ms"),
    "search_postgres.rare": Target("ids of a page: a rare word", 1.5, unit="ms"),
    "search_postgres.phrase": Target("ids of a page: a phrase", 1.5, unit="ms"),
    "search_postgres.prefix": Target("ids of a page: a prefix", 1.5, unit="ms"),
    "search_postgres.newest": Target("ids of a page: a common word, newest first", unit="ms"),
    "search_postgres.page.newest": Target(
        "the whole page beyond its ids: a common word, newest first", unit="ms", judged="ours"
    ),
    "search_postgres.page.everywhere": Target(
        "the whole page beyond its ids: a word of every third document", unit="ms", judged="ours"
    ),
    "search_postgres.page.common": Target("the whole page beyond its ids: a common word", unit="ms", judged="ours"),
    "search_postgres.page.rare": Target("the whole page beyond its ids: a rare word", unit="ms", judged="ours"),
    "search_postgres.page.phrase": Target("the whole page beyond its ids: a phrase", unit="ms", judged="ours"),
    "search_postgres.page.prefix": Target("the whole page beyond its ids: a prefix", unit="ms", judged="ours"),
    "search_postgres.size": Target("index of words, per character", 5, unit="bytes", judged="ours"),
    "search_postgres.build": Target("index {texts:,} messages, characters/s", None, ">=", "M/s"),
}
