"""Executors: processes in which kernels run, apart from everything that judges them."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import NoReturn

from metalbench.errors import KernelDied, MachineError
from metalbench.isolation import death
from metalbench.isolation.process import Process

WORKER = "metalbench.isolation.executing"
# For a kernel, its checked build, and the probe of the clock.
EXECUTORS_PER_TRIAL = 3


class Executor:
    """One process, as `_core.run_apart` takes them: `socket` is our end of its channel."""

    def __init__(self) -> None:
        # Of this process's session: whoever ends that ends all.
        self._process = Process("", worker=WORKER, channel=self._store_socket, leads_session=False)

    def _store_socket(self, connection: Connection) -> Connection:
        # What goes over it is the core's own.
        self.socket = connection.fileno()
        return connection

    @property
    def number(self) -> int:
        """The system's number of the process."""
        return self._process.number

    def end(self) -> None:
        """End it; it is gone when this returns."""
        self._process.end()

    def raise_end(self, ready: bool) -> NoReturn:
        """Raise KernelDied, or MachineError, which says how it ended by itself.

        Before it was `ready` no kernel is to blame.
        """
        code, words = self._process.wait_for_exit(), self._process.read_output_tail()
        ended = death.make_exit_error(code, words) if ready else death.make_start_error(code, words)
        if isinstance(ended, MachineError):
            raise ended
        raise KernelDied(ended.kind.value, ended.message)

    def raise_garbled(self, reason: str) -> NoReturn:
        """Raise KernelDied, which says that it sent what cannot be."""
        ended = death.make_protocol_error(reason)
        raise KernelDied(ended.kind.value, ended.message)


class Executors:
    """Starts executors, of which so many are being made ready from here on.

    They are started by a thread that lives as long as this process: on Linux what a thread has
    started can be ended with it.
    """

    def __init__(
        self, ready: int = EXECUTORS_PER_TRIAL, *, kind: type[Executor] = Executor
    ) -> None:
        self._kind = kind
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="executors")
        self._ready = deque(self._starter.submit(kind) for _ in range(ready))

    def start(self) -> Executor:
        """One that is ready, or a new one."""
        try:
            ready = self._ready.popleft()
        except IndexError:
            ready = self._starter.submit(self._kind)
        return ready.result()

    def close(self) -> None:
        """End those that nobody has taken, and start no more."""
        while self._ready:
            self.start().end()
        self._starter.shutdown()
