"""Executors: processes that run kernels, separate from the processes that judge them."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import NoReturn

from metalbench.errors import KernelDied, MachineError
from metalbench.isolation import death
from metalbench.isolation.process import Process

WORKER = "metalbench.isolation.executing"
# One each for the kernel, its checked build, and the probe of the clock.
EXECUTORS_PER_TRIAL = 3


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
        ended = death.make_exit_error(code, words) if ready else death.make_start_error(code, words)
        if isinstance(ended, MachineError):
            raise ended
        raise KernelDied(ended.kind.value, ended.message)

    def raise_garbled(self, reason: str) -> NoReturn:
        """Raise KernelDied for a malformed message of the process."""
        ended = death.make_protocol_error(reason)
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

    def close(self) -> None:
        """End the executors that were not taken, and start no more."""
        while self._ready:
            self.start().end()
        self._starter.shutdown()
