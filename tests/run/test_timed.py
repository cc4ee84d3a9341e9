"""Timed runs and their results, on the cpu device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metalbench import _core
from metalbench.kernel.header import parse
from metalbench.kernel.memory import POISONS
from metalbench.kernel.prepare import compile_kernel
from metalbench.measure.device_limits import RotationPlan
from metalbench.measure.measurement import FormTime, Plan, TimingMode
from metalbench.reference import Reference
from metalbench.run import reference_forms, timed
from metalbench.run.reference_forms import FormChoice
from metalbench.run.timed import Timed, like_seeds
from metalbench.stats import Interval
from metalbench.task import normal, output, task
from metalbench.task.workload import workload
from metalbench.verify import Kind
from metalbench.verify.examine import ReferenceErrors
from metalbench.verify.tolerance import ErrorNorms

PLAN = Plan(seconds=0.05, warmup_ns=1_000_000, first_analysis=8, min_pairs=2, max_pairs=16)
HONEST = """
// Twice x.
// dispatch: doubled  threads_in_grid=(n)  threads=(64)
#include <metal_stdlib>
kernel void doubled(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = 2 * x[i];
}
"""
IN_ANY_TYPE = HONEST.replace("float*", "DTYPE*").replace(
    "// dispatch", "// dtypes: float32, float16\n// dispatch"
)
# Works once: what is in its scratch is still there at the next launch.
TIRED = """
// Twice x.
// scratch: done float32 (n)
// dispatch: doubled  threads_in_grid=(n)  threads=(64)
#include <metal_stdlib>
kernel void doubled(device const float* x, device float* y, device float* done,
                    uint i [[thread_position_in_grid]]) {
  if (done[i] == 1.0f) return;
  done[i] = 1.0f;
  y[i] = 2 * x[i];
}
"""


@task(
    sizes=dict(seed=dict(n=4096)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    dtypes=("float32", "float16"),
    flops="n",
)
def doubled(x):
    return x + x


# Saves itself the work where its result is there already, and counts how often.
IDLE = """
// Twice x.
// scratch: idle uint32 (n)
// dispatch: doubled  threads_in_grid=(n)  threads=(64)
#include <metal_stdlib>
kernel void doubled(device const float* x, device float* y, device uint* idle,
                    uint i [[thread_position_in_grid]]) {
  if (y[i] == 2 * x[i]) idle[i] = idle[i] + 1;
  else y[i] = 2 * x[i];
}
"""
# Computes every second time that it is asked.
EVERY_OTHER = """
// Twice x.
// scratch: turn uint32 (n)
// dispatch: doubled  threads_in_grid=(n)  threads=(64)
#include <metal_stdlib>
kernel void doubled(device const float* x, device float* y, device uint* turn,
                    uint i [[thread_position_in_grid]]) {
  turn[i] = turn[i] + 1;
  if (turn[i] % 2 == 0) y[i] = 2 * x[i];
}
"""


@pytest.fixture
def device() -> _core.Device:
    return _core.open("cpu")


def prepared(
    device: _core.Device, source: str, mode: TimingMode = TimingMode.WARM, seed: int = 0
) -> Timed:
    compiled = compile_kernel(device, parse(source, name="doubled"), doubled)
    return Timed.prepare(compiled, workload(doubled, "seed", seed=seed), mode)


@pytest.fixture
def four_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed, "plan_rotation", lambda *sizes: RotationPlan(4, "not quite cold"))


def test_seeds_of_the_same_distributions_follow() -> None:
    (x,) = doubled.inputs.values()
    seeds = like_seeds(doubled, 1)
    following = [next(seeds) for _ in range(3)]
    assert following == sorted(following)
    assert following[0] > 1
    assert [x.variation(seed) for seed in following] == [x.variation(1)] * 3


def test_results_of_an_honest_kernel_after_timing_are_right(device: _core.Device) -> None:
    warm = prepared(device, HONEST)
    measured = warm.measure(PLAN, None)
    assert warm.rotation.judge_last_window().passed
    assert warm.bound.workload.seed > 0
    assert warm.rotation.judge_new_inputs(workload(doubled, "seed", seed=1)).passed
    assert measured.mode is TimingMode.WARM
    assert measured.ratio is not None


def test_a_kernel_that_stops_working_during_timing_is_found(device: _core.Device) -> None:
    tired = prepared(device, TIRED)
    tired.measure(PLAN, None)
    (finding,) = tired.rotation.judge_last_window().findings
    assert finding.kind is Kind.WRONG_RESULT


@pytest.mark.parametrize("mode", TimingMode)
@pytest.mark.usefixtures("four_copies")
def test_outputs_never_hold_the_result_before_a_pass(
    device: _core.Device, mode: TimingMode
) -> None:
    idle = prepared(device, IDLE, mode)
    for each in idle.rotation.passes:
        each.scratches["idle"].array[:] = 0
    idle.measure(PLAN, None)
    # Scratch is poisoned when inputs are exchanged: a count would be another number.
    unused = [0, *(int(poison) * 0x10001 for poison in POISONS)]
    assert all(np.isin(each.scratches["idle"].array, unused).all() for each in idle.rotation.passes)
    idle.bound.scratches["idle"].array[:] = 0
    # So it would be counted.
    device.run(2 * idle.bound.dispatches)
    assert idle.bound.scratches["idle"].array.any()


def test_a_kernel_that_alternately_skips_inputs_is_found(device: _core.Device) -> None:
    lazy = prepared(device, EVERY_OTHER)
    lazy.measure(PLAN, None)
    (finding,) = lazy.rotation.judge_last_window().findings
    # Which of its passes it leaves out depends on how many there were.
    assert finding.kind in (Kind.WRONG_RESULT, Kind.STALE_RESULT)


def test_both_sides_have_two_sets_of_inputs(device: _core.Device) -> None:
    warm = prepared(device, HONEST)
    first, second = (each.inputs["x"].array.copy() for each in warm.rotation.passes)
    assert (first != second).all()
    assert warm.reference is not None
    held = [np.array(each["x"]) for each in warm.reference._inputs]
    np.testing.assert_array_equal(held, [first, second])


@pytest.mark.usefixtures("four_copies")
def test_cold_copies_take_turns_and_are_all_worked_on(device: _core.Device) -> None:
    cold = prepared(device, HONEST, TimingMode.COLD)
    measured = cold.measure(Plan(seconds=0.05, warmup_ns=0, mode=TimingMode.COLD), None)
    assert [len(each) for each in cold.rotation.rounds] == [4, 4]
    assert len({copy.outputs["y"].array.ctypes.data for copy in cold.rotation.passes}) == 4
    assert cold.rotation.judge_last_window().passed
    assert measured.mode is TimingMode.COLD
    assert "not quite cold" in measured.doubts


@pytest.mark.usefixtures("four_copies")
def test_a_different_copy_is_found(device: _core.Device) -> None:
    cold = prepared(device, HONEST, TimingMode.COLD)
    assert cold.rotation.judge_last_window().passed
    device.run([dispatch for copy in cold.rotation.passes for dispatch in copy.dispatches])
    cold.rotation.rounds[1][2].outputs["y"].array[7] += 1
    cold.rotation.exchanges = 1
    (finding,) = cold.rotation.judge_last_window().findings
    assert finding.kind is Kind.WRONG_RESULT
    assert "at 7" in finding.message


def test_the_ratio_is_against_the_fastest_form_and_all_forms_are_listed(
    device: _core.Device,
) -> None:
    measured = prepared(device, HONEST).measure(PLAN, None)
    names = [form.name for form in measured.forms]
    assert names == ["mlx doubled", "mx.compile: mlx doubled"]
    (against,) = (form for form in measured.forms if form.compared)
    assert measured.reference_name == against.name


def test_inputs_of_both_sides_are_exchanged_together(device: _core.Device) -> None:
    warm = prepared(device, HONEST)
    warm.measure(PLAN, None)
    assert warm.reference is not None
    assert warm.reference.workload is warm.bound.workload
    (theirs,) = warm.reference.outputs_of(warm.reference.form)
    device.run(warm.bound.dispatches)
    np.testing.assert_array_equal(theirs, warm.bound.outputs["y"].array)


@pytest.mark.parametrize(("dtype_name", "known_s"), [("float32", 7.0), ("float16", 0.0)])
def test_choose_form_uses_the_time_known_from_verification(
    device: _core.Device, monkeypatch: pytest.MonkeyPatch, dtype_name: str, known_s: float
) -> None:
    told = []

    def choose_form(reference: Reference, *, pass_s: float, **_: object) -> FormChoice:
        told.append(pass_s)
        return FormChoice(())

    monkeypatch.setattr(reference_forms, "choose_form", choose_form)
    monkeypatch.setattr(reference_forms, "load_choice", lambda *_: None)
    kernel = parse(IN_ANY_TYPE, name="doubled")
    compiled = compile_kernel(device, kernel, doubled, dtype_name=dtype_name)
    known = ReferenceErrors({"": {"y": ErrorNorms(0.0, 0.0)}}, pass_s=7.0)
    work = workload(doubled, "seed", dtype_name=dtype_name)
    Timed.prepare(compiled, work, TimingMode.WARM, known).measure(PLAN, None)
    Timed.prepare(compiled, work, TimingMode.WARM).measure(PLAN, None)
    assert told == [known_s, 0.0]


def test_the_form_to_beat_is_not_found_out_again(
    device: _core.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))
    contests = []

    def choose_form(reference: Reference, **_: object) -> FormChoice:
        contests.append(reference)
        eager, compiled = reference.forms
        reference.form = compiled
        slow, fast = Interval(3e3, 3e3, 3e3), Interval(2e3, 2e3, 2e3)
        forms = FormTime(eager.name, slow), FormTime(compiled.name, fast, compared=True)
        return FormChoice(forms, decided=True)

    monkeypatch.setattr(reference_forms, "choose_form", choose_form)
    first, again = (prepared(device, HONEST).measure(PLAN, None) for _ in range(2))
    assert len(contests) == 1
    assert first.reference_name == again.reference_name == "mx.compile: mlx doubled"
    assert "1.50x as slow" in again.forms[0].fault
