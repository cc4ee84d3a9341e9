"""Start a candidate's process and decode its answers. Every field of them may be hostile.

Code of the candidate can reach the objects of its process and send the judge whatever it likes.
"""

from __future__ import annotations

import mmap
import os
import re
import select
import signal
import tempfile
import unicodedata
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from time import monotonic, perf_counter_ns
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
from metalbench.finding_kinds import Kind
from metalbench.kernelbench.candidates import messages
from metalbench.kernelbench.candidates.messages import (
    MOST_BYTES,
    CallLayout,
    CandidateError,
    CandidateStart,
    Launch,
    SealReport,
)
from metalbench.kernelbench.candidates.own_work import Overhead
from metalbench.mlx.definition import MATH_MODES
from metalbench.sandbox import exit_status
from metalbench.sandbox.encoding import decode, encode
from metalbench.sandbox.process import Process, list_descendants
from metalbench.sandbox.resources import ProcessTimes, find_kernel_threads, read_times

# Kernels that one call may need, and the length of the text of each.
MOST_LAUNCHES = 256
MOST_TEXT = 1 << 20
MOST_MESSAGE = 4000
# A message is preceded by its length in four bytes, as `Connection` sends it.
_LENGTH_BYTES = 4
_CHUNK = 1 << 16
_NAME = re.compile(r"[A-Za-z_]\w{0,999}", re.ASCII)
_FILE = re.compile(r"<\w{1,250}>", re.ASCII)
_KIND = re.compile(r"\w{1,100}", re.ASCII)
_BEGIN = '#include "mlx.h"\n'
_BLANKS = "\t\n\v\f\r"
_MOST_THREADS = 2**31 - 1


def receive(connection: Connection, limit_s: float) -> bytes | None:
    """Return the next message, or None if it is not complete within the limit.

    Raises EOFError if the other end is closed, and EncodingError for a message that is too long.
    """
    deadline = monotonic() + limit_s
    header = _read_exactly(connection, _LENGTH_BYTES, deadline)
    if header is None:
        return None
    length = int.from_bytes(header, "big", signed=True)
    if not 0 <= length <= MOST_BYTES:
        raise EncodingError(f"expected a message of at most {MOST_BYTES} bytes, got {length}")
    return _read_exactly(connection, length, deadline)


def decode_launches(data: bytes) -> tuple[Launch, ...]:
    """Return the launches that a message asks for; raises EncodingError if one cannot be."""
    found: tuple[Launch, ...] = decode(data, tuple[Launch, ...])
    if not 1 <= len(found) <= MOST_LAUNCHES:
        raise EncodingError(f"expected 1 to {MOST_LAUNCHES} kernels, got {len(found)}")
    for each in found:
        _check(each)
    return found


def decode_error(data: bytes) -> CandidateError:
    """Return what the process says went wrong, as text that can be shown and kept."""
    told = decode(data, CandidateError)
    kind = told.kind if _KIND.fullmatch(told.kind) else "raised"
    return CandidateError(kind, _escape(told.message[:MOST_MESSAGE])[:MOST_MESSAGE])


def _read_exactly(connection: Connection, count: int, deadline: float) -> bytes | None:
    number = connection.fileno()
    poll = select.poll()
    poll.register(number, select.POLLIN)
    found = bytearray()
    while len(found) < count:
        left = deadline - monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return None
        part = os.read(number, min(count - len(found), _CHUNK))
        if not part:
            raise EOFError
        found += part
    return bytes(found)


def _check(launch: Launch) -> None:
    _expect(_NAME.fullmatch(launch.name), "name", "an identifier", launch.name)
    _expect(_FILE.fullmatch(launch.file), "file", "<NAME> of letters, digits and _", launch.file)
    _expect(launch.math in MATH_MODES, "math", " or ".join(MATH_MODES), launch.math)
    unit = launch.unit
    _expect(len(unit) <= MOST_TEXT, "unit", f"at most {MOST_TEXT} characters", len(unit))
    _expect(unit.startswith(_BEGIN), "unit", f"a text that begins with {_BEGIN!r}", unit[:40])
    odd = next((each for each in unit if _is_odd(each)), None)
    _expect(odd is None, "unit", "characters of Unicode without control characters", odd)
    for size in launch.threads:
        _expect(0 < size <= _MOST_THREADS, "threads", f"1 to {_MOST_THREADS}", size)
    _expect(
        0 <= launch.last < launch.threads[0], "last", "fewer threads than a group's", launch.last
    )


def _is_odd(character: str) -> bool:
    return character not in _BLANKS and unicodedata.category(character) in {"Cc", "Cs"}


def _expect(holds: object, field: str, expected: str, got: object) -> None:
    if not holds:
        shown = ascii(got)
        shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
        raise EncodingError(f"{field} of a kernel: expected {expected}, got {shown}")


def _escape(text: str) -> str:
    return "".join(
        each.encode("unicode_escape").decode("ascii") if _is_odd(each) else each for each in text
    )


# A candidate's process as the judge has it: asked over a channel, and stopped in between.
#
# It is stopped (SIGSTOP) whenever it owes no answer. So nothing of it runs while inputs are put in
# place, outputs are read or the reference is timed, and all that it does for an answer is within
# the time that the judge sees pass.

WORKER = "metalbench.kernelbench.candidates.main"
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
    """The result of some calls: `ns` by the judge's clock, the rest as the process reports."""

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

    def set_layout(self, layout: CallLayout) -> None:
        """Say what calls look like from here on."""
        self._ask(messages.SET_LAYOUT + encode(layout, CallLayout), self._limit)
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
                "its process has started others, which may work in parallel to every call",
            )
        if len(told) != messages.DONE_FIELDS.size:
            raise _make_died_error(exit_status.make_protocol_error(f"{len(told)} bytes"))
        after = self._times()
        passed = None if before is None or after is None else after.since(before)
        launches, kernel_ns, reported_ns, read, written = messages.DONE_FIELDS.unpack(told)
        return CallResult(ns, launches, kernel_ns, reported_ns, read, written, passed)

    def probe(self, way: int, seed: int, limit_s: float) -> tuple[int, int]:
        """Make one call with a fault injected into its kernels. Raise Needs.

        Return the reported bytes of arguments that they read, and the bytes that they wrote.
        """
        told = self._ask(messages.PROBE + messages.PROBE_FIELDS.pack(way, seed), limit_s)
        self._stop()
        if len(told) != messages.PROBE_RESULT.size:
            raise _make_died_error(exit_status.make_protocol_error(f"{len(told)} bytes"))
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
                raise _make_died_error(exit_status.make_protocol_error(str(error))) from None
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
            raise _make_died_error(exit_status.make_protocol_error(str(error))) from None
        raise _make_died_error(exit_status.make_protocol_error(repr(kind)))

    def _translate_disconnect(self) -> _DisconnectTranslator:
        return _DisconnectTranslator(self)

    def make_end_error(self) -> Exception:
        """Return the error for a process that has ended by itself."""
        code, words = self._process.wait_for_exit(), self._process.read_output_tail()
        ended = (exit_status.make_exit_error if self._sealed else exit_status.make_start_error)(
            code, words
        )
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


def _make_died_error(ended: exit_status.WorkerExited) -> KernelDied:
    return KernelDied(ended.kind.value, ended.message)


def _make_reported_error(told: CandidateError) -> Exception:
    made = _REPORTED_ERRORS.get(told.kind)
    if made is not None:
        return made(told.message)
    kind = Kind.WRONG_RESULT if told.kind == "ResultError" else Kind.CRASH
    return KernelDied(kind.value, told.message)
