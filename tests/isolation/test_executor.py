"""Kernels that run in another process than what judges them."""

from __future__ import annotations

import math
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from operator import attrgetter
from time import monotonic

import numpy as np
import pytest
from scripted_executor import DONE, Request, Script, ScriptedExecutor, device_apart

from metalbench import _core
from metalbench.errors import (
    CompileError,
    DispatchError,
    ForgedTimes,
    KernelDied,
    KernelFault,
    TimeLimitExceeded,
    Unsupported,
)
from metalbench.isolation import executor
from metalbench.isolation.death import WorkerError
from metalbench.isolation.executor import Executor, Executors
from metalbench.verify import Kind

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


@pytest.fixture
def here() -> _core.Device:
    """Kernels run in this process."""
    return _core.open("cpu")


@pytest.fixture
def device(here: _core.Device) -> Iterator[_core.Device]:
    """Kernels run in an executor."""
    executors = Executors()
    with device_apart(executors.start) as device:
        yield device
    executors.close()


@pytest.fixture
def scripted() -> Iterator[Callable[..., Twice]]:
    """A kernel in an executor with a script, which gets it as `scripted.last`."""
    made: list[ScriptedExecutor] = []

    def twice(script: Callable[[ScriptedExecutor], Script], function: str = "twice") -> Twice:
        def start() -> object:
            # What is started after the first one's end is honest.
            if made:
                return Executor()
            made.append(ScriptedExecutor(script))
            return made[0]

        with device_apart(start) as device:
            return Twice(device, function)

    yield twice
    for each in made:
        each.end()


def test_a_kernel_runs_and_is_timed(device: _core.Device) -> None:
    twice = Twice(device)
    assert twice.run() > 0
    assert twice.is_right
    samples = twice.sample(long_windows=4)
    assert (samples.candidate_ns > 0).all()
    assert (samples.floor_ns > 0).all()
    assert len(samples.candidate_ns) == 12
    assert len(samples.long_ns) == 4


def test_a_pipeline_tells_what_it_tells_in_this_process(
    here: _core.Device, device: _core.Device
) -> None:
    mine, theirs = (each.compile(SOURCE).pipeline("summed") for each in (here, device))
    names = ("name", "max_threads", "threadgroup_bytes", "needs_fibers", "engine", "engine_widths")
    assert attrgetter(*names)(mine) == attrgetter(*names)(theirs)
    facts = ("name", "kind", "index", "type", "address_space", "access", "element", "element_bytes")
    assert list(map(attrgetter(*facts), mine.arguments)) == list(
        map(attrgetter(*facts), theirs.arguments)
    )
    assert list(map(repr, mine.attributes)) == list(map(repr, theirs.attributes))


def test_groups_of_other_shapes_are_compiled_when_they_are_needed(device: _core.Device) -> None:
    """What an executor has not loaded before its first kernel another one loads."""
    summed = Twice(device, "summed")
    summed.run()
    expected = np.arange(COUNT, dtype=np.float32).reshape(-1, 64).sum(axis=1)
    assert (summed.y.numpy("float32").reshape(-1, 64) == expected[:, None]).all()
    for threads in (32, 24):
        values = {"x": summed.x, "y": summed.y}
        dispatch = _core.Dispatch(
            summed.pipeline, values, threads_in_grid=COUNT - 8, threads=threads
        )
        device.run([dispatch])
    for again in (summed, Twice(device, "summed")):
        again.run()
        assert (again.y.numpy("float32").reshape(-1, 64) == expected[:, None]).all()


def test_a_kernel_that_is_compiled_again_is_loaded_once(device: _core.Device) -> None:
    """Each of its pipelines may be the first to need a shape."""
    for threads in (64, 32, 24):
        again = Twice(device, "summed")
        values = {"x": again.x, "y": again.y}
        dispatch = _core.Dispatch(
            again.pipeline, values, threads_in_grid=COUNT - 8, threads=threads
        )
        device.run([dispatch])
        assert again.y.numpy("float32")[: COUNT - 64].all()


def test_faults_come_with_their_line(device: _core.Device) -> None:
    with pytest.raises(KernelFault, match=r"\[astray\] .*:11: access to (an )?invalid address"):
        Twice(device, "astray").run()
    twice = Twice(device)
    twice.run()
    assert twice.is_right


def test_checked_runs_find_what_they_find_in_this_process(device: _core.Device) -> None:
    with pytest.raises(KernelFault, match=r":11: .*outside of every buffer"):
        Twice(device, "astray", checked=True).run()
    unwritten = Twice(device, checked=True)
    unwritten.run()
    unwritten.x.mark_unwritten()
    with pytest.raises(KernelFault, match=r":5: .*that nothing has written"):
        unwritten.run()
    unwritten.x.mark_written()
    unwritten.run()
    assert unwritten.is_right


def test_a_kernel_that_does_not_end_is_stopped(device: _core.Device) -> None:
    with pytest.raises(TimeLimitExceeded, match=r"time limit of 0.2 s reached: .*still running"):
        Twice(device, "endless").run(time_limit=0.2)


def test_what_cannot_be_handed_over_is_refused(here: _core.Device, device: _core.Device) -> None:
    source = """#include <metal_stdlib>
    kernel void k(metal::texture2d<float> t, device float* y, uint i [[thread_position_in_grid]]) {
      y[i] = t.read(metal::uint2(0, 0)).x;
    }"""
    pipeline = device.compile(source).pipeline()
    texture = device.texture(np.zeros((4, 4), np.float32))
    values = {"t": texture, "y": device.allocate(4)}
    dispatch = _core.Dispatch(pipeline, values, threads_in_grid=1, threads=1)
    with pytest.raises(Unsupported, match="not handed to another process"):
        device.run([dispatch])
    with pytest.raises(CompileError):
        device.compile("kernel void f() { nonsense }").pipeline()
    with pytest.raises(DispatchError, match="another device"):
        device.run(Twice(here).dispatches)


def test_memory_that_is_new_is_zero(device: _core.Device) -> None:
    for size in (1, 100, 3 << 20, 5 << 20):
        first = device.allocate(size)
        first.numpy()[:] = 255
        del first
        assert not device.allocate(size).numpy().any()


def test_an_executor_knows_nothing_but_kernels() -> None:
    program = "import metalbench.isolation.executing, sys; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    known = told.stdout.decode().split()
    rooms = {name.split(".")[1] for name in known if name.startswith("metalbench.")}
    assert rooms == {"_core", "errors", "isolation"}
    assert not {"mlx", "scipy", "numpy", "subprocess"} & set(known)


def test_a_pointer_into_the_judges_memory_leads_nowhere(
    here: _core.Device, device: _core.Device
) -> None:
    source = """#include <metal_stdlib>
    kernel void k(constant ulong& where, device float* y, uint i [[thread_position_in_grid]]) {
      device float* there = (device float*)where;
      there[i] = 1;
      y[i] = 1;
    }"""
    secret = np.zeros(1024, np.float32)
    where = secret.ctypes.data
    for there, reached in ((here, True), (device, False)):
        secret[:] = 0
        values = {"where": where, "y": there.allocate(4)}
        pipeline = there.compile(source).pipeline()
        dispatch = _core.Dispatch(pipeline, values, threads_in_grid=1, threads=1)
        try:
            there.run([dispatch])
        except KernelFault:
            assert not reached
        assert secret.any() == reached


def reporting(change: Callable[[float], float]) -> Callable[[ScriptedExecutor], Script]:
    """A script that reports other times of windows."""

    def script(_: ScriptedExecutor) -> Script:
        def answer(kind: Request, ask: Callable[[], bytes]) -> bytes:
            honest = ask()
            if kind is not Request.RUN:
                return honest
            (time_ns,) = struct.unpack("<d", honest[4:])
            return DONE + struct.pack("<d", change(time_ns))

        return answer

    return script


@pytest.mark.parametrize("reported", [1e12, -1.0, math.nan, math.inf])
def test_times_that_cannot_be_are_forged(scripted: Callable[..., Twice], reported: float) -> None:
    twice = scripted(reporting(lambda _: reported))
    with pytest.raises(ForgedTimes, match=r"of which only .* passed"):
        twice.run()


def test_times_that_are_too_short_gain_nothing_and_are_told(
    scripted: Callable[..., Twice],
) -> None:
    twice = scripted(reporting(lambda _: 0.0))
    with pytest.raises(ForgedTimes, match="far less time than passed"):
        # Long beside twenty handshakes, on a busy machine too.
        twice.sample(max_pairs=64, min_pairs=64, candidate_window=20_000, warmup_ns=0)


def test_work_behind_an_answer_is_seen(scripted: Callable[..., Twice]) -> None:
    """The kernel runs on when the executor has said that it is done, while others are timed."""
    beside: list[threading.Thread] = []

    def script(executor: ScriptedExecutor) -> Script:
        def answer(kind: Request, ask: Callable[[], bytes]) -> bytes:
            if kind is not Request.RUN:
                return DONE + bytes(8) if beside else ask()
            if not beside:
                beside.append(threading.Thread(target=until_it_is_ended, args=(ask,)))
                beside[0].start()
            return DONE + struct.pack("<d", 1.0)

        return answer

    endless = scripted(script, "endless")
    with pytest.raises(ForgedTimes, match="goes on working after it has said that it is done"):
        endless.device.sample(
            endless.dispatches,
            lambda _: np.sort(np.random.default_rng(0).random(200_000)),
            candidate_window=1,
            reference_window=1,
            warmup_ns=0,
            max_pairs=100,
        )
    for each in beside:
        each.join()


def until_it_is_ended(ask: Callable[[], bytes]) -> None:
    with suppress(OSError, EOFError):
        ask()


def test_little_work_behind_answers_is_nothing() -> None:
    agreement = _core.Agreement()
    for _ in range(1000):
        agreement.check_idle(0.9e6, 1e6)
        agreement.check_idle(1e6, 100e6)
    with pytest.raises(ForgedTimes):
        agreement.check_idle(30e6, 40e6)


def test_a_busy_machine_is_no_forgery() -> None:
    """Delays of any length, as long as some windows have none, count to the kernel's time."""
    agreement = _core.Agreement()
    agreement.note_handshake(50e3)
    for _ in range(100):
        assert agreement.settle(15e6, 15.05e6) == 15e6
        for _ in range(8):
            assert agreement.settle(3e6, 15e6) == 15e6 - 75e3
            assert agreement.settle(5e6, 15e6) == 15e6 - 75e3


def test_the_way_to_an_executor_is_no_part_of_its_time() -> None:
    agreement = _core.Agreement()
    for seen_ns in (40e3, 20e3, 30e3):
        agreement.note_handshake(seen_ns)
    assert agreement.handshake_ns == 30e3
    assert agreement.settle(1e6, 1.03e6) == 1e6
    # What is more than a handshake costs is the kernel's.
    assert agreement.settle(1e6, 1.1e6) == 1.1e6 - 45e3
    for _ in range(100):
        agreement.note_handshake(10e6)
    assert agreement.settle(1e6, 2e6) == 2e6 - 150e3


@pytest.mark.parametrize(
    "message", [b"", b"\xff" * 4, DONE, DONE + b"\0" * 9, struct.pack("<IQ", 1, 1 << 40)]
)
def test_what_is_no_answer_is_the_end(scripted: Callable[..., Twice], message: bytes) -> None:
    def script(_: ScriptedExecutor) -> Script:
        return lambda kind, ask: message if kind is Request.RUN else ask()

    twice = scripted(script)
    with pytest.raises(KernelDied, match="sent what is no result") as caught:
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


def test_an_executor_that_cannot_start_is_no_kernels_fault(
    device: _core.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "WORKER", "metalbench.isolation.nowhere")
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
from metalbench.isolation.executor import Executors
executor = Executors().start()
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
    """Whether a process has not ended; who is to take note of its end is not ours."""
    told = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(number)], capture_output=True, check=False
    )
    return told.stdout.strip()[:1] not in (b"", b"Z")
