"""Executors: processes that run kernels, separate from the processes that judge them."""

from __future__ import annotations

import atexit
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing.connection import Connection
from typing import NoReturn
from weakref import WeakSet

from metalbench import _core
from metalbench.errors import KernelDied, MachineError
from metalbench.sandbox import exit_status
from metalbench.sandbox.process import Process

WORKER = "metalbench.sandbox.executor_main"
# One each for the kernel and the probe of the clock. A checked build needs another.
EXECUTORS_PER_TRIAL = 2


class Executor:
    """One process as `_core.run_apart` expects it; `socket` is this end of its channel."""

    def __init__(self) -> None:
        # In the session of this process: the end of that session ends all executors.
        self._process = Process("", worker=WORKER, channel=self._store_socket, leads_session=False)

    def _store_socket(self, connection: Connection) -> Connection:
        # The core defines the protocol of this socket.
        self.socket = connection.fileno()
        return connection

    @property
    def number(self) -> int:
        """The process ID."""
        return self._process.number

    def end(self) -> None:
        """End the process. It has ended when this returns."""
        self._process.end()

    def raise_end(self, ready: bool) -> NoReturn:
        """Raise KernelDied, or MachineError, with the reason why the process ended.

        A process that was not `ready` has not run a kernel yet: then the kernel is not the cause.
        """
        code, words = self._process.wait_for_exit(), self._process.read_output_tail()
        ended = (
            exit_status.make_exit_error(code, words)
            if ready
            else exit_status.make_start_error(code, words)
        )
        if isinstance(ended, MachineError):
            raise ended
        raise KernelDied(ended.kind.value, ended.message)

    def raise_garbled(self, reason: str) -> NoReturn:
        """Raise KernelDied for a malformed message of the process."""
        ended = exit_status.make_protocol_error(reason)
        raise KernelDied(ended.kind.value, ended.message)


class Executors:
    """Start executors; `ready` of them start in advance.

    One thread, which lives as long as this process, starts them: on Linux a process may be ended
    with the thread that started it (PR_SET_PDEATHSIG, prctl(2)).
    """

    def __init__(
        self, ready: int = EXECUTORS_PER_TRIAL, *, kind: type[Executor] = Executor
    ) -> None:
        self._kind = kind
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="executors")
        self._ready = deque(self._starter.submit(kind) for _ in range(ready))

    def start(self) -> Executor:
        """Return an executor that was started in advance, or a new one."""
        try:
            ready = self._ready.popleft()
        except IndexError:
            ready = self._starter.submit(self._kind)
        return ready.result()

    def prepare(self) -> None:
        """Start one more executor in advance."""
        self._ready.append(self._starter.submit(self._kind))

    def close(self) -> None:
        """End the executors that were not taken, and start no more."""
        while self._ready:
            self.start().end()
        self._starter.shutdown()


# Devices that run kernels in a process separate from the caller's.


class _Sandbox(Executor):
    """An executor that Python may collect in any thread."""

    def end(self) -> None:
        """End the process, or store it for later if this thread may not signal it."""
        try:
            super().end()
        except PermissionError:
            # This thread starts a compiler, and its filter forbids signals.
            _unended.append(self)


# Executors of kernels that still exist when Python exits, and those that could not be ended yet.
_started: WeakSet[Executor] = WeakSet()
_unended: list[Executor] = []


def open_sandboxed_device() -> _core.Device:
    """Return a cpu device that runs its kernels in one confined process.

    The process starts with the first kernel, and ends with the device or with this process. If it
    dies, the next call starts another one.
    """
    return _core.open_apart(_start)


@contextmanager
def run_kernels_in_executors() -> Iterator[None]:
    """Run kernels of `cpu` devices that are opened inside this context in executors.

    Each source has a separate process, which is confined before it loads anything and sealed before
    it runs anything. `_core.run_apart(None)` ends that early.
    """
    _core.run_apart(_start)
    try:
        yield
    finally:
        _core.run_apart(None)


def _start() -> Executor:
    _end_unended()
    executor = _get_executors().start()
    _started.add(executor)
    _end_all_at_exit()
    return executor


@cache
def _get_executors() -> Executors:
    """Return the starter of all executors; its thread lives as long as this process."""
    return Executors(0, kind=_Sandbox)


@cache
def _end_all_at_exit() -> None:
    """Register `_end_all` with atexit, once: it must run before Python tears modules down."""
    atexit.register(_end_all)


def _end_all() -> None:
    _end_unended()
    for executor in list(_started):
        executor.end()


def _end_unended() -> None:
    for executor in [_unended.pop() for _ in range(len(_unended))]:
        executor.end()
