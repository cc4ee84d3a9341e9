"""The order of a kernel's stages: what must be known of it before it reaches a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from scripted_gpu import ScriptedGpu

from metalbench import _core, verify
from metalbench.kernel.header import parse
from metalbench.kernel.library import Library
from metalbench.measure.device_limits import Ceiling
from metalbench.measure.measurement import Plan
from metalbench.run import attempt as attempt_module
from metalbench.run.attempt import attempt
from metalbench.run.trial import Silent, Stage, Trial
from metalbench.store.result import Result, Status
from metalbench.verify import flow
from metalbench.verify.examine import Examiner
from metalbench.verify.flow import SEEDS

SOURCE = """
// The larger of x and 0.
// dispatch: relu  threads_in_grid=(rows * cols)  threads=(256)
#include <metal_stdlib>
using namespace metal;
kernel void relu(device const float* x, device float* y, constant uint& rows, constant uint& cols,
                 uint i [[thread_position_in_grid]]) {
  STATEMENT
}
"""
RIGHT = "y[i] = max(x[i], 0.0f);"
WRONG = "y[i] = max(x[i], 1.0f);"
BEYOND = "y[i] = max(x[i], 0.0f) + 0 * x[i + 1];"
ENDLESS = "uint j = i; while (rows > 0) j = j * 5 + uint(x[j % (rows * cols)]); y[i] = x[j];"
GPU = "the GPU"


class Watched(ScriptedGpu, Silent):
    """A GPU, and the observer of a trial on it: what happens, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def stage_started(self, stage: Stage) -> None:
        self.seen.append(stage)

    def run(self, dispatches: Sequence[_core.Dispatch], **options: Any) -> float:
        self.seen.append(GPU)
        return self._cpu.run(dispatches, **options)

    def sample(self, *sides: Any, **plan: Any) -> Any:
        self.seen.append(GPU)
        return super().sample(*sides, **plan)


def tried(statement: str, device: Any, observer: Any = None) -> Result:
    entry = Library().entry("relu")
    kernel = parse(SOURCE.replace("STATEMENT", statement), name="relu")
    plan = Plan(seconds=0.01, warmup_ns=0)
    return attempt(
        device, Trial(entry, kernel, "float32", size="small", plan=plan), observer or device
    )


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Watched:
    monkeypatch.setattr(verify, "verify_checked", partial(verify.verify_checked, time_limit=0.5))
    return Watched()


def test_a_kernel_reaches_the_gpu_after_its_checked_run(gpu: Watched) -> None:
    result = tried(RIGHT, gpu)
    assert result.status is Status.CORRECT, result.failures
    assert gpu.seen[:4] == [Stage.COMPILE, Stage.CHECK, Stage.VERIFY, GPU]
    stages = [each for each in gpu.seen if each is not GPU]
    assert stages[2:5] == [Stage.VERIFY, Stage.MEASURE, Stage.RECHECK]
    assert stages[5:] == [Stage.CHECK, Stage.VERIFY_ALL]


@pytest.mark.parametrize(
    ("statement", "kind"), [(BEYOND, "OUT_OF_BOUNDS"), (ENDLESS, "TIME_LIMIT")]
)
def test_a_kernel_with_findings_in_the_checked_run_does_not_reach_the_gpu(
    statement: str, kind: str, gpu: Watched
) -> None:
    result = tried(statement, gpu)
    assert gpu.seen == [Stage.COMPILE, Stage.CHECK]
    assert [(each.kind, each.stage) for each in result.failures] == [(kind, Stage.CHECK.value)]
    assert result.status is Status.INCORRECT


def test_wrong_results_are_checked_once(gpu: Watched) -> None:
    result = tried(WRONG, gpu)
    assert [each.kind for each in result.failures] == ["WRONG_RESULT"]
    assert gpu.seen.count(Stage.CHECK) == 1


def test_a_roof_that_does_not_compile_leaves_the_measurement(
    gpu: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise _core.CompileError("tensor_roofs.metal:1: error: unknown type")

    monkeypatch.setattr("metalbench.run.attempt.find_peaks", fail)
    result = tried(RIGHT, gpu)
    assert result.status is Status.CORRECT, result.failures
    assert result.measurement is not None
    (note,) = (each for each in result.notes if "no roof" in each)
    assert note.endswith("does not compile: tensor_roofs.metal:1: error: unknown type")


def test_on_the_cpu_device_the_clock_starts_before_the_checked_run() -> None:
    class Cpu(Silent):
        def __init__(self) -> None:
            self.seen: list[Stage] = []

        def stage_started(self, stage: Stage) -> None:
            self.seen.append(stage)

        def __getattr__(self, name: str) -> Any:
            return getattr(opened, name)

    opened = _core.open("cpu")
    device = Cpu()
    assert tried(RIGHT, device).status is Status.CORRECT
    assert device.seen == [each for each in Stage if each is not Stage.RECORD]


def test_a_size_is_run_again_and_again_at_one_seed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    original = flow.examine_repeatedly

    def watched(examiner: Examiner) -> verify.Report:
        seen.append((examiner.workload.size, examiner.workload.seed))
        return original(examiner)

    monkeypatch.setattr(flow, "examine_repeatedly", watched)
    kernel = parse(SOURCE.replace("STATEMENT", RIGHT), name="relu")
    plan = Plan(seconds=0.01, warmup_ns=0)
    trial = Trial(Library().entry("relu"), kernel, "float32", size="small", plan=plan)
    result = attempt(_core.open("cpu"), trial, Silent())
    assert result.status is Status.CORRECT
    sizes = [size for size, _ in seen]
    assert {seed for _, seed in seen} == {0}
    assert sizes.count("small") == 1
    assert {"odd1", "odd2"} < set(sizes)
    assert len({check.seed for check in result.checks if check.size == "small"}) >= SEEDS


def test_a_time_beyond_the_machines_limits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def low(_: object, *, again: bool) -> Ceiling:
        asked.append(again)
        return Ceiling(gflops=1e-9, gbytes_per_s=1e9)

    monkeypatch.setattr(attempt_module, "ceiling_of", low)
    result = tried(RIGHT, ScriptedGpu(kind="cuda"), Silent())
    (failure,) = result.failures
    assert (failure.stage, failure.kind) == (Stage.MEASURE.value, "IMPLAUSIBLE")
    assert failure.message.startswith("[relu] expected at most 3.2e-08 GFLOP/s, 32 times")
    assert result.status is Status.FAILED
    assert result.measurement is None
    assert asked == [False, True], "it is measured again before a kernel is refused"


def test_a_time_beyond_the_machines_limits_is_noted_on_metal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    low = Ceiling(gflops=1e-9, gbytes_per_s=1e9)
    monkeypatch.setattr(attempt_module, "ceiling_of", lambda device, again: low)
    result = tried(RIGHT, ScriptedGpu(), Silent())
    assert result.status is Status.CORRECT, result.failures
    assert any(note.startswith("implausible time: [relu] expected") for note in result.notes)
