"""How much of everything a run does. A ratio is taken inside a repeat, so many short repeats beat a few long ones."""

from __future__ import annotations

from typing import NamedTuple


class Scale(NamedTuple):
    name: str
    repeats: int
    synced_repeats: int  # an fsync takes now 0.2 and now 4 ms here: more and shorter repeats
    storms: int  # repeats of what is slow: eight processes, 32 streams
    cold: int  # repeats of a start
    appends: int  # messages per repeat
    synced: int  # the same where every commit is an fsync
    turns: int
    deep: int  # messages in one session, for "flat"
    burst: int  # chunks per repeat at each size
    paced: int  # chunks at 60 a second, on a turned clock
    stream: int  # chunks of a whole stream
    messages: int  # of the session that is loaded, five parts each
    sessions: int  # of the store that is listed
    forks: int
    grafted: int  # turns of the source that is grafted
    storm: int  # messages per process and repeat
    streams: int  # chunks per stream and repeat, 32 at once
    spaces: int  # on one Postgres
    texts: int  # messages of the store that is searched
    searches: int  # repeats of appends beside the indexing job


FULL = Scale(
    name="full", repeats=15, synced_repeats=25, storms=9, cold=21, appends=300, synced=100, turns=120, deep=50_000,
    burst=200, paced=600, stream=5_000, messages=2_000, sessions=100_000, forks=20, grafted=2_000, storm=150,
    streams=100, spaces=1_000, texts=20_000, searches=5,
)  # fmt: skip
QUICK = Scale(
    name="quick", repeats=5, synced_repeats=9, storms=5, cold=9, appends=250, synced=40, turns=80, deep=10_000,
    burst=200, paced=300, stream=2_000, messages=2_000, sessions=10_000, forks=10, grafted=1_000, storm=40, streams=50,
    spaces=100, texts=5_000, searches=3,
)  # fmt: skip
