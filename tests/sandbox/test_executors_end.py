"""Executors that answer nonsense, die, or never answer: their judge goes on, and ends them."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from time import monotonic

import pytest
from scripted_executor import DONE, Request, Script, ScriptedExecutor, Twice, device_apart

from metalbench import _core
from metalbench.errors import KernelDied, KernelFault, TimeLimitExceeded
from metalbench.sandbox import executors as executor
from metalbench.sandbox.executors import Executors
from metalbench.sandbox.exit_status import WorkerError
from metalbench.verify import Kind


@pytest.mark.parametrize(
    "message", [b"", b"\xff" * 4, DONE, DONE + b"\0" * 9, struct.pack("<IQ", 1, 1 << 40)]
)
def test_an_invalid_answer_ends_the_executor(
    scripted: Callable[..., Twice], message: bytes
) -> None:
    def script(_: ScriptedExecutor) -> Script:
        return lambda kind, ask: message if kind is Request.RUN else ask()

    twice = scripted(script)
    with pytest.raises(KernelDied, match="sent an invalid result") as caught:
        twice.run()
    assert caught.value.kind == Kind.CRASH
    twice.run()
    assert twice.is_right


def test_messages_of_faults_are_text(scripted: Callable[..., Twice]) -> None:
    said = b"[twice] \xff\x00 wrong"
    fault = struct.pack("<IQ", 1, len(said)) + said + struct.pack("<QQ", 0, 0)

    def script(_: ScriptedExecutor) -> Script:
        return lambda kind, ask: fault if kind is Request.RUN else ask()

    with pytest.raises(KernelFault, match=r"\[twice\] \?\? wrong"):
        scripted(script).run()


@pytest.mark.parametrize("when", [Request.MAP, Request.PREPARE, Request.SEAL])
def test_an_executor_may_die_at_any_request(scripted: Callable[..., Twice], when: Request) -> None:
    dies_at(scripted, when)


def test_an_executor_may_die_while_a_kernel_runs(scripted: Callable[..., Twice]) -> None:
    dies_at(scripted, Request.RUN)


def dies_at(scripted: Callable[..., Twice], when: Request) -> None:
    def script(executor: ScriptedExecutor) -> Script:
        def answer(kind: Request, ask: Callable[[], bytes]) -> bytes:
            if kind is when:
                executor.kill(signal.SIGSEGV)
            return ask()

        return answer

    twice = scripted(script)
    with pytest.raises(KernelDied, match="SIGSEGV") as caught:
        twice.run()
    assert caught.value.kind == Kind.CRASH
    twice.run()
    assert twice.is_right


def test_an_executor_that_cannot_start_is_not_a_kernel_failure(
    device: _core.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "WORKER", "metalbench.workers.nowhere")
    executors = Executors(0)
    with (
        device_apart(executors.start) as other,
        pytest.raises(WorkerError, match="ended as it started"),
    ):
        Twice(other)
    executors.close()


def test_an_executor_that_never_answers_is_ended(scripted: Callable[..., Twice]) -> None:
    def script(_: ScriptedExecutor) -> Script:
        return lambda kind, ask: None if kind is Request.RUN else ask()

    twice = scripted(script)
    with pytest.raises(TimeLimitExceeded, match=r"limit of 0.1 s .* does not answer"):
        twice.run(time_limit=0.1)
    twice.run()
    assert twice.is_right


JUDGE = """
import signal, sys
sys.path[:] = {path!r}
from metalbench import _core
from metalbench.sandbox.executors import Executors
# As long as it is there, so is the thread that starts executors, which end with it.
executors = Executors()
executor = executors.start()
_core.run_apart(lambda: executor)
device = _core.open("cpu")
source = "kernel void k(device float* y) {{ while (y[0] >= 0) y[0] = 1; }}"
y = device.allocate(4)
pipeline = device.compile(source).pipeline()
dispatches = [_core.Dispatch(pipeline, {{"y": y}}, threads_in_grid=1, threads=1)]
print(executor.number, flush=True)
device.run(dispatches, time_limit=600)
"""


def test_an_executor_ends_with_its_judge() -> None:
    program = JUDGE.format(path=sys.path)
    command = [sys.executable, "-c", program]
    judge = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert judge.stdout is not None
    number = int(judge.stdout.readline())
    judge.kill()
    judge.wait()
    judge.stdout.close()
    deadline = monotonic() + 10
    while is_running(number):
        assert monotonic() < deadline, "the executor is still there"


def is_running(number: int) -> bool:
    """Return whether a process has not ended. It need not be a child of this process."""
    told = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(number)], capture_output=True, check=False
    )
    return told.stdout.strip()[:1] not in (b"", b"Z")
