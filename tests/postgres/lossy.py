"""A line that loses one answer: the one that says that something was committed. The server has done it; its client is
not told."""

from __future__ import annotations

import re
import socket

from .proxy import CHUNK, Link, Proxy

# How the answer to a COMMIT ends, under whatever name it was prepared; and that to chunks outside a transaction, alone
# or with the rows of their parts (which says which numbers were taken).
COMMITTED = re.compile(rb"COMMIT\x00|(INSERT 0 \d+|seq\x00.*SELECT \d+)\x00.*Z\x00\x00\x00\x05I", re.DOTALL)


class Lossy(Proxy):
    def __init__(self, dsn: str) -> None:
        self.lost = 0
        self._to_lose = 0
        super().__init__(dsn)

    def lose_next_commit(self, times: int = 1) -> None:
        self._to_lose = times

    def _pass_replies(self, link: Link) -> None:
        with self._direction(link):
            while data := link.server.recv(CHUNK):
                self._wait_to_pass(link)
                if self._is_to_be_lost(data):
                    link.cut()
                    return
                link.client.sendall(data)
            link.client.shutdown(socket.SHUT_WR)

    def _is_to_be_lost(self, data: bytes) -> bool:
        if self._to_lose == 0 or not COMMITTED.search(data):
            return False
        self._to_lose -= 1
        self.lost += 1
        return True
