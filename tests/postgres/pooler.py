"""A pooler as many put in front of Postgres: a client has a server connection for one transaction, and then another.

Each client is greeted by the pooler itself, with what a server said once. The first message of a transaction takes a
server connection out of a few; it is given back, as it is, when the server says that it is idle and owes no answer.
What a client sets for its connection is therefore found by whoever comes next. Unix sockets only, no passwords.
"""

from __future__ import annotations

import queue
import select
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress

from psycopg.conninfo import conninfo_to_dict

from .room import Room
from .server import PORT, rewritten

PROTOCOL, SSL, GSS = 196608, 80877103, 80877104
ASKS = b"QSF"  # a query, a sync, a function call: each is answered by one ReadyForQuery
READY, BYE, ERROR = b"Z", b"X", b"E"
CHUNK = 65536
LOOK_S = 0.05
JOIN_S = 10.0


class Gone(Exception):
    """The other side has closed its connection."""


class Stream:
    """One side of a connection, taken apart into messages."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._read = b""

    def messages(self) -> Iterator[tuple[bytes, bytes]]:
        """What has come: the letter of each message, and all of it."""
        self._more()
        while (found := self._next()) is not None:
            yield found

    def startup(self) -> int:
        """The code of the first message, which has no letter."""
        while len(self._read) < 8 or len(self._read) < _size(self._read):
            self._more()
        size, code = struct.unpack("!II", self._read[:8])
        self._read = self._read[size:]
        return int(code)

    def send(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except OSError:
            raise Gone from None

    def close(self) -> None:
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def _more(self) -> None:
        try:
            data = self.sock.recv(CHUNK)
        except OSError:
            data = b""
        if not data:
            raise Gone
        self._read += data

    def _next(self) -> tuple[bytes, bytes] | None:
        if len(self._read) < 5 or len(self._read) < 1 + _size(self._read[1:]):
            return None
        end = 1 + _size(self._read[1:])
        message, self._read = self._read[:end], self._read[end:]
        return message[:1], message


def _size(data: bytes) -> int:
    return int(struct.unpack("!I", data[:4])[0])


class Pooler:
    """`dsn` is the given one, by way of this pooler."""

    def __init__(self, dsn: str, size: int = 3) -> None:
        parts = conninfo_to_dict(dsn)
        self._address = f"{parts['host']}/.s.PGSQL.{parts.get('port') or PORT}"
        self._startup = _startup(str(parts["user"]), str(parts["dbname"]))
        self._room = Room()
        self.dsn = rewritten(dsn, host=str(self._room.path), port=PORT)
        self.exchanged = 0  # how often a client got a server connection that another had before
        self._greeting = b""
        self._is_closed = False
        self._guard = threading.Lock()
        self._streams: list[Stream] = []
        self._threads: list[threading.Thread] = []
        self._servers: queue.Queue[tuple[Stream, int]] = queue.Queue()
        for _ in range(size):
            self._servers.put((self._connect(), 0))
        self._listener = self._listen()
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def __enter__(self) -> Pooler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._is_closed = True
        self._acceptor.join(JOIN_S)
        for stream in [*self._streams]:
            stream.close()
        for thread in self._threads:
            thread.join(JOIN_S)
        for stream in self._streams:
            stream.sock.close()
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
                sock, _ = self._listener.accept()
            except TimeoutError:
                continue
            client = self._keep(Stream(sock))
            thread = threading.Thread(target=self._serve, args=(client, len(self._threads) + 1), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _keep(self, stream: Stream) -> Stream:
        with self._guard:
            self._streams.append(stream)
        return stream

    def _connect(self) -> Stream:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server = self._keep(Stream(sock))
        sock.connect(self._address)
        server.send(self._startup)
        greeting, kind = b"", b""
        while kind != READY:
            for kind, message in server.messages():
                if kind == ERROR:
                    raise ConnectionError(message)
                greeting += message
        self._greeting = greeting
        return server

    # ------------------------------------------------------------ one client

    def _serve(self, client: Stream, number: int) -> None:
        visit = Visit(client)
        try:
            self._greet(client)
            while True:
                self._pass_on(visit, number)
        except Gone:
            self._leave(visit)
        finally:
            client.close()

    def _greet(self, client: Stream) -> None:
        while (asked := client.startup()) in (SSL, GSS):
            client.send(b"N")
        if asked != PROTOCOL:  # a request to cancel
            raise Gone
        client.send(self._greeting)

    def _pass_on(self, visit: Visit, number: int) -> None:
        for stream in visit.wait():
            if stream is not visit.client:
                visit.pass_replies()
                continue
            for kind, message in stream.messages():
                if kind == BYE:
                    raise Gone
                if visit.server is None:
                    visit.server, last = self._servers.get()
                    self.exchanged += last not in (0, number)
                visit.pass_request(kind, message)
        if visit.server is not None and visit.is_over:
            self._servers.put((visit.server, number))
            visit.server = None

    def _leave(self, visit: Visit) -> None:
        """In the middle of a transaction: the server takes it back, with its connection."""
        if visit.server is not None:
            visit.server.close()
            if not self._is_closed:
                self._servers.put((self._connect(), 0))


class Visit:
    """A client, and the server connection that it has for now."""

    def __init__(self, client: Stream) -> None:
        self.client = client
        self.server: Stream | None = None
        self._owed = 0  # answers
        self._asking = False  # something was sent whose question is yet to come
        self._idle = True

    @property
    def is_over(self) -> bool:
        return self._idle and self._owed == 0 and not self._asking

    def wait(self) -> list[Stream]:
        streams = [self.client, *([self.server] if self.server else [])]
        ready, _, _ = select.select([stream.sock for stream in streams], [], [])
        return [stream for stream in streams if stream.sock in ready]

    def pass_request(self, kind: bytes, message: bytes) -> None:
        assert self.server is not None
        self._owed += kind in ASKS
        self._asking = kind not in ASKS
        self.server.send(message)

    def pass_replies(self) -> None:
        assert self.server is not None
        for kind, message in self.server.messages():
            if kind == READY:
                self._owed -= 1
                self._idle = message[5:] == b"I"
            self.client.send(message)


def _startup(user: str, database: str) -> bytes:
    words = b"".join(word.encode() + b"\x00" for word in ("user", user, "database", database)) + b"\x00"
    return struct.pack("!II", len(words) + 8, PROTOCOL) + words
