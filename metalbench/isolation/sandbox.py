"""Devices for kernels that are to run in a process of their own, apart from the caller's."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from weakref import WeakSet

from metalbench import _core
from metalbench.isolation.executor import Executor, Executors


class _Sandbox(Executor):
    """An executor that may be let go of anywhere, as Python does when it collects garbage."""

    def end(self) -> None:
        try:
            super().end()
        except PermissionError:
            # The thread is one that starts a compiler, and may signal nobody any more.
            _unended.append(self)


# Those of kernels that still are there when Python ends, and those that could not be ended yet.
_started: WeakSet[Executor] = WeakSet()
_unended: list[Executor] = []


def open_sandboxed_device() -> _core.Device:
    """A cpu device whose kernels run in one confined process, which starts with the first of them.

    It ends with the device, and with this process. One that has died is replaced at the next call.
    """
    return _core.open_apart(_start)


@contextmanager
def run_kernels_in_executors() -> Iterator[None]:
    """Load and run kernels of `cpu` devices that are opened inside this context in executors.

    Each source has a process of its own, which is confined before it loads anything and sealed
    before it runs anything. `_core.run_apart(None)` ends that early.
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
    """They are all started by one thread, which lives as long as this process."""
    return Executors(0, kind=_Sandbox)


@cache
def _end_all_at_exit() -> None:
    """Called once there is one: before Python takes away what it consists of."""
    atexit.register(_end_all)


def _end_all() -> None:
    _end_unended()
    for executor in list(_started):
        executor.end()


def _end_unended() -> None:
    for executor in [_unended.pop() for _ in range(len(_unended))]:
        executor.end()
