"""Devices that run kernels in a process separate from the caller's."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from weakref import WeakSet

from metalbench import _core
from metalbench.isolation.executor import Executor, Executors


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
