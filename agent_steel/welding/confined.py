"""Check a draft in a separate process without network and with limits."""

from __future__ import annotations

import signal
from collections.abc import Callable
from time import monotonic
from typing import Any

from agent_steel.proposal import Progress
from agent_steel.welding.messages import CheckResult, Fault, Job, of_welders, of_workers
from metalbench.errors import EncodingError, MachineError, MetalBenchError
from metalbench.sandbox import exit_status
from metalbench.sandbox.process import Process
from metalbench.sandbox.resources import Limits, read_resident_bytes
from metalbench.workers.channel import Channel

SECONDS = 300.0
SECONDS_BETWEEN_LOOKS = 0.1
LONGEST = 4000


def check_draft(job: Job, device: str, limits: Limits, say: Progress) -> CheckResult:
    """Check a draft. Crashes, hangs and excessive memory of its process are faults of the draft.

    A process killed by the system is repeated once: the system kills when memory runs out, perhaps
    because of other processes. Raise MachineError if no process can be prepared, or its network
    cannot be disabled.
    """
    found, killed = _check(job, device, limits, say)
    if killed:
        say("the system has killed the process, as it does when memory runs out: checked again")
        found, _ = _check(job, device, limits, say)
    return found


def _check(job: Job, device: str, limits: Limits, say: Progress) -> tuple[CheckResult, bool]:
    """Return the result, and whether the process was killed from outside."""
    process = Process(
        device,
        worker="agent_steel.welding.worker",
        channel=lambda end: Channel(end, of_welders, of_workers),
    )
    watched = _Watched(process, limits, say)
    try:
        return watched.check(job), False
    except exit_status.WorkerExited as ended:
        fault = Fault(watched.stage, f"{ended.kind}: {ended.message}"[:LONGEST])
        return CheckResult((fault,)), watched.killed
    finally:
        process.end()


class _Watched:
    """A process and its current stage."""

    def __init__(self, process: Process[Channel], limits: Limits, say: Progress) -> None:
        self._process = process
        self._limits = limits
        self._say = say
        self._open = False
        self.stage = "task"
        self.killed = False

    def check(self, job: Job) -> CheckResult:
        """Tell of the draft, and wait for what was found."""
        means = self._receive("open")
        if not means:
            raise MachineError(
                "[weld] the network of the process that runs a model's Python cannot be cut off "
                "here; `metalbench doctor` says more"
            )
        self._open = True
        start = monotonic()
        self._process.channel.send("check", job)
        found: CheckResult = self._receive("checked", self._within(start))
        return found

    def _receive(self, wanted: str, look: Callable[[], None] = lambda: None) -> Any:
        try:
            while True:
                look()
                if not self._process.channel.wait_for_message(SECONDS_BETWEEN_LOOKS):
                    continue
                name, value = self._process.channel.receive()
                if name == wanted:
                    return value
                if name == "machine":
                    raise MachineError(str(value))
                if name == "stage":
                    self.stage = str(value)
                    self._say(f"checking: {value}")
        except EncodingError as error:
            raise exit_status.make_protocol_error(str(error)) from None
        except (EOFError, OSError):
            raise self._end() from None

    def _within(self, start: float) -> Callable[[], None]:
        def look() -> None:
            if monotonic() - start > self._limits.seconds:
                raise _too_long(self._limits.seconds)
            used = read_resident_bytes(self._process.number)
            if used > self._limits.memory_bytes:
                raise exit_status.make_memory_error(used, self._limits.memory_bytes)

        return look

    def _end(self) -> MetalBenchError | exit_status.WorkerExited:
        code, words = self._process.wait_for_exit(), self._process.read_output_tail()
        self.killed = code == -signal.SIGKILL
        return (
            exit_status.make_exit_error(code, words)
            if self._open
            else exit_status.make_start_error(code, words)
        )


def _too_long(seconds: float) -> exit_status.WorkerExited:
    from metalbench.verify import Kind

    return exit_status.WorkerExited(
        Kind.TIME_LIMIT,
        f"expected all checks to be through in {seconds:g} s, and they were not; the process was "
        "ended. Does the task, or the kernel, loop for ever, or are its sizes too large?",
    )
