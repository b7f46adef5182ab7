"""A bad line to Postgres: a socket in front of its own that can be cut, held up, or robbed of the answers.

Every connection has two threads, one per direction. What they may do is decided under one lock just before bytes are
passed on, so a fault holds for everything that was not passed on before it. New connections are taken throughout.
"""

from __future__ import annotations

import atexit
import re
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from psycopg.conninfo import conninfo_to_dict

from .room import Room
from .server import PORT, rewritten

CHUNK = 65536
LOOK_S = 0.05  # how soon a thread that waits for a connection sees that the proxy is closed
QUIET_S = 2.0  # an answer that pauses for so long has no end that we would know
JOIN_S = 10.0

# Every answer to a client ends with the message ReadyForQuery: its letter, its length, the state of the transaction.
READY = re.compile(rb"Z\x00\x00\x00\x05[ITE]")
READY_SIZE = 6


class Link:
    """One client's connection: a socket on each side. It is closed when neither direction uses it any more."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.is_cut = False
        self.threads: list[threading.Thread] = []
        self._users = 2
        self._lock = threading.Lock()

    def cut(self) -> None:
        with self._lock:
            self.is_cut = True
            for side in (self.client, self.server):
                with suppress(OSError):  # already gone
                    side.shutdown(socket.SHUT_RDWR)

    def leave(self) -> bool:
        """One direction is over. True if it was the last."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self.client.close()
                self.server.close()
            return self._users == 0


class Proxy:
    """`dsn` is the given one, by way of this proxy."""

    def __init__(self, dsn: str) -> None:
        parts = conninfo_to_dict(dsn)
        self._upstream = str(parts.get("host") or "localhost"), int(parts.get("port") or PORT)
        self._room = Room()
        self.dsn = rewritten(dsn, host=str(self._room.path), hostaddr="", port=PORT)
        self.losing = False
        self._passable_at = 0.0
        self._is_closed = False
        self._links: set[Link] = set()
        self._changed = threading.Condition()
        self._listener = self._listen()
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()
        atexit.register(self.close)

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cut(self) -> None:
        """End every connection at once; what was not passed on is lost."""
        with self._changed:
            for link in self._links:
                link.cut()
            self._changed.notify_all()

    def stall(self, seconds: float) -> None:
        """Hold all bytes, of both directions, until so many seconds from now; 0 lets them go."""
        with self._changed:
            self._passable_at = time.monotonic() + seconds
            self._changed.notify_all()

    @contextmanager
    def lose_replies(self) -> Iterator[None]:
        """Requests still reach the server and are carried out; their answers are lost, and then the connection."""
        self.losing = True
        try:
            yield
        finally:
            self.losing = False

    def close(self) -> None:
        atexit.unregister(self.close)
        with self._changed:
            self._is_closed = True
            threads = [self._acceptor, *(thread for link in self._links for thread in link.threads)]
        self.cut()
        for thread in threads:
            thread.join(JOIN_S)
        self._listener.close()
        self._room.close()

    def _listen(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(self._room.path / f".s.PGSQL.{PORT}"))
        listener.listen(128)
        listener.settimeout(LOOK_S)
        return listener

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            try:
                server = _connect(*self._upstream)
            except OSError:  # the server is down; its clients see a closed connection
                client.close()
                continue
            self._join(Link(client, server))

    def _join(self, link: Link) -> None:
        link.threads = [
            threading.Thread(target=self._pass_requests, args=(link,), daemon=True),
            threading.Thread(target=self._pass_replies, args=(link,), daemon=True),
        ]
        with self._changed:
            self._links.add(link)
            if self._is_closed:
                link.cut()
            for thread in link.threads:
                thread.start()

    def _pass_requests(self, link: Link) -> None:
        with self._direction(link):
            while data := link.client.recv(CHUNK):
                self._wait_to_pass(link)
                link.server.sendall(data)
            link.server.shutdown(socket.SHUT_WR)

    def _pass_replies(self, link: Link) -> None:
        with self._direction(link):
            while data := link.server.recv(CHUNK):
                self._wait_to_pass(link)
                if self.losing:
                    _lose_the_rest(link.server, data)
                    link.cut()
                    return
                link.client.sendall(data)
            link.client.shutdown(socket.SHUT_WR)

    @contextmanager
    def _direction(self, link: Link) -> Iterator[None]:
        try:
            yield
        except OSError:  # one side is gone, so the other has nobody to talk to
            link.cut()
        finally:
            if link.leave():
                with self._changed:
                    self._links.discard(link)

    def _wait_to_pass(self, link: Link) -> None:
        with self._changed:
            while not link.is_cut and (left := self._passable_at - time.monotonic()) > 0:
                self._changed.wait(left)
        if link.is_cut:
            raise ConnectionAbortedError


def _connect(host: str, port: int) -> socket.socket:
    if not host.startswith("/"):
        server = socket.create_connection((host, port), timeout=JOIN_S)
        server.settimeout(None)
        return server
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.connect(f"{host}/.s.PGSQL.{port}")
    except OSError:
        server.close()
        raise
    return server


def _lose_the_rest(server: socket.socket, data: bytes) -> None:
    """Read the answer to its end: a server that cannot finish its answer might not finish its work."""
    end = data[-READY_SIZE:]
    while data and _is_readable(server, LOOK_S if READY.fullmatch(end) else QUIET_S):
        data = server.recv(CHUNK)
        end = (end + data)[-READY_SIZE:]


def _is_readable(sock: socket.socket, within_s: float) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(within_s))
