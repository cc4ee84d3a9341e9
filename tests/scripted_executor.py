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

import numpy as np

from metalbench import _core
from metalbench.sandbox.executors import Executor

DONE = struct.pack("<I", 0)


class Request(IntEnum):
    """Requests of judges, as in csrc/executor/wire.h."""

    LOAD = 0
    SHAPE = 1
    MAP = 2
    PREPARE = 3
    RUN = 4
    CHECK = 5
    PING = 6
    SEAL = 7
    DROP = 8


# Of a request, and what the real executor answers: what the judge is to hear, None for nothing.
Script = Callable[[Request, Callable[[], bytes]], "bytes | None"]


class ScriptedExecutor:
    """An `Executor` whose answers are those of a script."""

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
        # The remaining threads learn that it is over.
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


SOURCE = """
#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = 2 * x[i];
}
kernel void endless(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  while (y[i] >= 0) y[i] = x[i] * x[i];
}
kernel void astray(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i + (1ul << 40)];
}
kernel void summed(device const float* x, device float* y, uint i [[thread_position_in_grid]],
                   uint lane [[thread_index_in_threadgroup]]) {
  threadgroup float shared[64];
  shared[lane] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint k = 0; k < 64; ++k) sum += shared[k];
  y[i] = sum;
}
"""
COUNT = 4096


class Twice:
    """One of the kernels above, with its buffers."""

    def __init__(
        self, device: _core.Device, function: str = "twice", *, checked: bool = False
    ) -> None:
        self.device = device
        self.x, self.y = device.allocate(4 * COUNT), device.allocate(4 * COUNT)
        self.x.numpy("float32")[:] = np.arange(COUNT)
        self.pipeline = device.compile(SOURCE, checked=checked).pipeline(function)
        values = {"x": self.x, "y": self.y}
        self.dispatches = [_core.Dispatch(self.pipeline, values, threads_in_grid=COUNT, threads=64)]

    def run(self, **options: float) -> float:
        return self.device.run(self.dispatches, **options)

    def sample(self, **options: object) -> _core.Samples:
        plan = dict(warmup_ns=1e5, window_ns=1e5, max_pairs=12, min_pairs=12)
        return self.device.sample(self.dispatches, **{**plan, **options})

    @property
    def is_right(self) -> bool:
        return bool((self.y.numpy("float32") == 2 * np.arange(COUNT)).all())
