"""A candidate's process as the judge has it: asked over a channel, and stopped in between.

It is stopped (SIGSTOP) whenever it owes no answer. So nothing of it runs while inputs are put in
place, outputs are read or the reference is timed, and all that it does for an answer is within the
time that the judge sees pass.
"""

from __future__ import annotations

import mmap
import os
import signal
import tempfile
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from metalbench.errors import (
    CompileError,
    DispatchError,
    EncodingError,
    KernelDied,
    KernelFault,
    MachineError,
    TimeLimitExceeded,
)
from metalbench.isolation import death
from metalbench.isolation.descendants import list_descendants
from metalbench.isolation.encoding import decode, encode
from metalbench.isolation.process import Process
from metalbench.isolation.thread_times import ProcessTimes, find_kernel_threads, read_times
from metalbench.kind import Kind
from metalbench.python_candidate import messages
from metalbench.python_candidate.account import Overhead
from metalbench.python_candidate.messages import (
    CandidateError,
    CandidateStart,
    Launch,
    Layout,
    SealReport,
)
from metalbench.python_candidate.receiving import decode_error, decode_launches, receive

WORKER = "metalbench.python_candidate.playing"
# Until it has imported MLX and loaded its kernels; nothing of the candidate's runs in that time.
START_S = 120.0
_REPORTED_ERRORS = {
    "CompileError": CompileError,
    "DispatchError": DispatchError,
    "KernelFault": KernelFault,
    "TimeLimitExceeded": TimeLimitExceeded,
}


class Arena:
    """Memory that is handed to candidates' processes, one after the other."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        if hasattr(os, "memfd_create"):
            self.descriptor = os.memfd_create("metalbench-candidate")
        else:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this
            self.descriptor = self._file.fileno()
        os.ftruncate(self.descriptor, self.nbytes)
        self._mapped = mmap.mmap(self.descriptor, self.nbytes)
        self.memory: np.ndarray[Any, Any] = np.frombuffer(self._mapped, np.uint8)


class CallResult(NamedTuple):
    """What some calls came to: `ns` by the judge's clock, the others as their process tells."""

    ns: int
    launches: int
    kernel_ns: int
    reported_ns: int
    # Bytes of the arguments that kernels read, and of those that they write.
    read: int
    written: int
    # What the system has counted meanwhile; None where it does not tell.
    times: ProcessTimes | None = None


class KernelsNeeded(Exception):  # noqa: N818 - what happened, and no fault
    """A call needs kernels that the process has not loaded."""

    def __init__(self, launches: tuple[Launch, ...]) -> None:
        super().__init__()
        self.launches = launches


class CandidateProcess:
    """One process of a candidate. Every method but `end` raises what its candidate does wrong.

    CompileError of a file that raises when it is run, DispatchError of one that cannot be called,
    TimeLimitExceeded, KernelFault, and KernelDied with the kind of all else; MachineError if no
    candidate is to blame.
    """

    def __init__(self, start: CandidateStart, arena: Arena, *, time_limit: float) -> None:
        self._limit = time_limit
        self._sealed = False
        self._process: Process[Connection] = Process(
            "" if start.form else "sealed",
            worker=WORKER,
            channel=lambda ours: ours,
            leads_session=False,
        )
        self._channel = self._process.channel
        try:
            with self._translate_disconnect():
                self._channel.send_bytes(encode(start, CandidateStart))
                send_handle(self._channel, arena.descriptor, self._process.number)
            said = self._answer(START_S, messages.SEALED)
            self._expect_confined(said, start)
            self._kernel_threads = find_kernel_threads(self._process.number)
            self._sealed = True
            with self._translate_disconnect():
                self._channel.send_bytes(messages.BEGIN)
            self._answer(self._limit, messages.DONE)
        except BaseException:
            self.end()
            raise
        self._stop()

    def set_layout(self, layout: Layout) -> None:
        """Say what calls look like from here on."""
        self._ask(messages.SET_LAYOUT + encode(layout, Layout), self._limit)
        self._stop()

    def call(self, count: int, limit_s: float) -> CallResult:
        """Call it once for each of the first `count` slots; raises Needs."""
        before = self._times()
        begin = perf_counter_ns()
        told = self._ask(messages.CALL + messages.COUNT.pack(count), limit_s)
        ns = perf_counter_ns() - begin
        self._stop()
        if self.lacking and list_descendants(self._process.number):
            # Where nothing is lacking the system does not let it.
            raise KernelDied(
                Kind.FORGED_TIMES.value,
                "its process has started others, which may work beside every call",
            )
        if len(told) != messages.DONE_FIELDS.size:
            raise _make_died_error(death.make_protocol_error(f"{len(told)} bytes"))
        after = self._times()
        passed = None if before is None or after is None else after.since(before)
        launches, kernel_ns, reported_ns, read, written = messages.DONE_FIELDS.unpack(told)
        return CallResult(ns, launches, kernel_ns, reported_ns, read, written, passed)

    def probe(self, way: int, seed: int, limit_s: float) -> tuple[int, int]:
        """Make one call in which its kernels go wrong in a way; raises Needs.

        Return the bytes of arguments that they read, and the bytes that they wrote, as told.
        """
        told = self._ask(messages.PROBE + messages.PROBE_FIELDS.pack(way, seed), limit_s)
        self._stop()
        if len(told) != messages.PROBE_RESULT.size:
            raise _make_died_error(death.make_protocol_error(f"{len(told)} bytes"))
        read, written = messages.PROBE_RESULT.unpack(told)
        return read, written

    def overhead(self) -> Overhead:
        """Ask a form of the reference what copies and launches cost."""
        told = self._ask(messages.OVERHEAD, START_S)
        self._stop()
        return Overhead(*messages.COSTS.unpack(told))

    def _times(self) -> ProcessTimes | None:
        return read_times(self._process.number, self._kernel_threads)

    def _expect_confined(self, said: bytes, start: CandidateStart) -> None:
        """Raise MachineError for a candidate whose process could not be confined, unless allowed.

        It is called before any of the candidate runs.
        """
        self.lacking = decode(said, SealReport).lacking
        if self.lacking and start.form is None and not start.unconfined:
            raise MachineError(
                f"{start.file}: expected a process that the system confines, for a Python "
                f"candidate can do there whatever you can; this system lacks: "
                f"{'; '.join(self.lacking)}. `metalbench doctor` says more. Run it on a machine "
                "that has them, or with --unconfined if you trust every line of it"
            )

    def end(self) -> None:
        """End it; it is gone when this returns."""
        self._process.end()

    def _ask(self, message: bytes, limit_s: float) -> bytes:
        with suppress(ProcessLookupError):
            os.kill(self._process.number, signal.SIGCONT)
        with self._translate_disconnect():
            self._channel.send_bytes(message)
        return self._answer(limit_s, messages.DONE)

    def _answer(self, limit_s: float, expected: bytes) -> bytes:
        with self._translate_disconnect():
            try:
                said = receive(self._channel, limit_s)
            except EncodingError as error:
                raise _make_died_error(death.make_protocol_error(str(error))) from None
        if said is None:
            raise TimeLimitExceeded(
                f"expected an answer within {limit_s:g} s, and there was none; does the "
                "candidate loop for ever?"
            )
        kind, rest = said[:1], said[1:]
        if kind == expected:
            return rest
        try:
            if kind == messages.NEEDS:
                raise KernelsNeeded(decode_launches(rest))
            if kind == messages.WRONG:
                raise _make_reported_error(decode_error(rest))
        except EncodingError as error:
            raise _make_died_error(death.make_protocol_error(str(error))) from None
        raise _make_died_error(death.make_protocol_error(repr(kind)))

    def _translate_disconnect(self) -> _DisconnectTranslator:
        return _DisconnectTranslator(self)

    def make_end_error(self) -> Exception:
        """How it ended by itself."""
        code, words = self._process.wait_for_exit(), self._process.read_output_tail()
        ended = (death.make_exit_error if self._sealed else death.make_start_error)(code, words)
        return ended if isinstance(ended, MachineError) else _make_died_error(ended)

    def _stop(self) -> None:
        """Let it run no further; it stands still when this returns."""
        number = self._process.number
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(number, signal.SIGSTOP)
            if hasattr(os, "waitid"):
                os.waitid(os.P_PID, number, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


class _DisconnectTranslator:
    """Within it that the other end of the channel is gone says how the process ended."""

    def __init__(self, player: CandidateProcess) -> None:
        self._player = player

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, EOFError | OSError):
            raise self._player.make_end_error() from None


def _make_died_error(ended: death.WorkerExited) -> KernelDied:
    return KernelDied(ended.kind.value, ended.message)


def _make_reported_error(told: CandidateError) -> Exception:
    made = _REPORTED_ERRORS.get(told.kind)
    if made is not None:
        return made(told.message)
    kind = Kind.WRONG_RESULT if told.kind == "ResultError" else Kind.CRASH
    return KernelDied(kind.value, told.message)
