"""What a transaction runs under: its schema as the path, how long it may take, whether its commit waits for the disk.

The search path is set inside every transaction, for it alone: behind a pooler the next transaction on the same
connection is another client's. On a connection of our own everything is set once more when it is made; then the plans
that the server caches stay valid from one transaction to the next.

Named statements go by an index: a planner that has no statistics yet, or made its plan while the tables were small,
would read and sort whole ones. A statement that reads everything says `-- plan: free` and gets the server's own choice,
made anew each time; so does a person's own SELECT.

A setting that is made by a function call stays on the server that is asked. Citus passes on `SET LOCAL` to the workers,
where the rows are locked and the commits wait; so where it is in the database, a write says these two once more.
"""

from __future__ import annotations

_WAYS = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_sort")
_BY_INDEX = dict.fromkeys(_WAYS, "off")


class Settings:
    def __init__(self, path: str, timeout: float, level: str, *, pooler: bool, citus: bool = False) -> None:
        patience = max(1, round(timeout * 1000))
        self._patience, self._longest = str(patience), str(patience + patience // 4 + 1)
        self._path, self._level = path, level
        common = {"jit": "off", "lock_timeout": self._patience}
        if citus:
            common |= {"citus.propagate_set_commands": "local"}
        self._has_citus = citus
        self._lasting = _BY_INDEX | common
        self._local = self._lasting if pooler else {}
        self._asking = common if pooler else {}

    def at_connect(self) -> str:
        """For a connection that this process has to itself."""
        return _statement({"search_path": self._path, "synchronous_commit": self._level, **self._lasting}, "false")

    def of_reading(self) -> str:
        """Only a read has a `statement_timeout`: a COMMIT that is cancelled while it waits for a standby counts as
        done. Every transaction has a `lock_timeout`, a little shorter than that: so a read that its
        `statement_timeout` stops was not waiting for a lock."""
        return _statement({"search_path": self._path, **self._local, "statement_timeout": self._longest}, "true")

    def of_asking(self) -> str:
        """The same for a person's own SELECT, which is planned as the server sees fit."""
        return _statement({"search_path": self._path, **self._asking, "statement_timeout": self._longest}, "true")

    def of_writing(self, level: str, channel: str | None) -> str:
        """With a NOTIFY for watchers, which the server sends with the commit."""
        text = _statement({"search_path": self._path, **self._local, "synchronous_commit": level}, "true")
        return text if channel is None else f"{text}, pg_notify('{channel}', '')"

    def on_workers(self, level: str) -> list[str]:
        """What a write says after that, so that Citus passes it on to its workers."""
        if not self._has_citus:
            return []
        return [f"SET LOCAL lock_timeout = '{self._patience}'", f"SET LOCAL synchronous_commit = '{level}'"]


def _statement(values: dict[str, str], local: str) -> str:
    """Every value is ours: names of settings, numbers, and a schema's name that we made."""
    return "SELECT " + ", ".join(f"set_config('{name}', '{value}', {local})" for name, value in values.items())


# From the next statement on, in this transaction.
BY_INDEX = _statement(_BY_INDEX | {"plan_cache_mode": "auto"}, "true")
FREE = _statement(dict.fromkeys(_WAYS, "on") | {"plan_cache_mode": "force_custom_plan"}, "true")
