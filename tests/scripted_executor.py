"""An executor that stands between a judge and a real one, and changes what is said."""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import NoReturn

from metalbench import _core
from metalbench.isolation.executor import Executor

DONE = struct.pack("<I", 0)


class Request(IntEnum):
    """What judges ask for; as in csrc/executor/wire.h."""

    LOAD = 0
    SHAPE = 1
    MAP = 2
    PREPARE = 3
    RUN = 4
    PING = 5
    SEAL = 6
    DROP = 7


# Of a request, and what the real executor answers: what the judge is to hear, None for nothing.
Script = Callable[[Request, Callable[[], bytes]], "bytes | None"]


class ScriptedExecutor:
    """As `Executor`; every answer is the script's."""

    def __init__(self, script: Callable[[ScriptedExecutor], Script]) -> None:
        self.real = Executor()
        self._judges, self._ours = socket.socketpair()
        self.socket = self._judges.fileno()
        self._there = socket.socket(fileno=os.dup(self.real.socket))
        self.asked: list[Request] = []
        self._script = script(self)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def number(self) -> int:
        return self.real.number

    def kill(self, number: signal.Signals) -> None:
        os.kill(self.real.number, number)

    def end(self) -> None:
        for each in (self._ours, self._there):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self.real.end()
        self._thread.join()
        for each in (self._judges, self._ours, self._there):
            each.close()

    def raise_end(self, ready: bool) -> NoReturn:
        self.real.raise_end(ready)

    def raise_garbled(self, reason: str) -> NoReturn:
        self.real.raise_garbled(reason)

    def _serve(self) -> None:
        with suppress(OSError, EOFError):
            while True:
                message, descriptors = _received(self._ours)
                kind = Request(struct.unpack_from("<I", message)[0])
                self.asked.append(kind)

                def ask(message: bytes = message, descriptors: list[int] = descriptors) -> bytes:
                    _send(self._there, message, descriptors)
                    return _received(self._there)[0]

                answer = self._script(kind, ask)
                if answer is not None:
                    _send(self._ours, answer, [])
        # Whoever is left hears that it is over.
        with suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)


def _send(end: socket.socket, message: bytes, descriptors: list[int]) -> None:
    framed = struct.pack("<Q", len(message)) + message
    if descriptors:
        sent = socket.send_fds(end, [framed], descriptors)
        framed = framed[sent:]
        for each in descriptors:
            os.close(each)
    end.sendall(framed)


def _received(end: socket.socket) -> tuple[bytes, list[int]]:
    head, descriptors, _, _ = socket.recv_fds(end, 8, 1)
    if not head:
        raise EOFError
    size = struct.unpack("<Q", head + _exactly(end, 8 - len(head)))[0]
    return _exactly(end, size), list(descriptors)


def _exactly(end: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = end.recv(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


@contextmanager
def device_apart(start: Callable[[], object]) -> Iterator[_core.Device]:
    """A cpu device whose kernels run in what `start` returns."""
    _core.run_apart(start)
    try:
        yield _core.open("cpu")
    finally:
        _core.run_apart(None)
