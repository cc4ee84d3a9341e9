"""The reference against itself."""

from __future__ import annotations

import pytest

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.measure.measurement import Plan, TimingMode
from metalbench.measure.sampling import Sides, measure
from metalbench.run import control
from metalbench.run.control import attempt_control, attempt_path
from metalbench.run.trial import Silent, Trial
from metalbench.store.result import Status

QUICK = Plan(seconds=0.05, warmup_ns=1_000_000)


def trial(name: str = "relu") -> Trial:
    entry = Library().entry(name)
    return Trial(entry, entry.kernel(), "float32", size="small", plan=QUICK)


def test_the_reference_is_both_sides_of_a_control() -> None:
    result = attempt_control(_core.open("cpu"), trial(), Silent())
    assert result.status is Status.CORRECT
    assert result.case.kernel == result.case.reference
    assert result.case.reference.endswith("mx.maximum")
    assert result.case.source == ""
    assert result.measurement is not None
    assert result.measurement.ratio is not None
    assert result.measurement.mode is TimingMode.WARM
    assert result.analysis is not None


def test_control_without_a_gpu_of_mlx_fails_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from metalbench import reference

    monkeypatch.setattr(reference, "create_reference", lambda *_: (None, ("no GPU here",)))
    result = attempt_control(_core.open("cpu"), trial(), Silent())
    assert result.status is Status.FAILED
    assert "no GPU here" in result.failures[0].message


def test_both_sides_have_the_same_preparation(monkeypatch: pytest.MonkeyPatch) -> None:
    from metalbench.run import control

    timed: list[Sides] = []

    def noted(device, sides, plan, **options):
        timed.append(sides)
        return measure(device, sides, plan, **options)

    monkeypatch.setattr(control, "measure", noted)
    result = attempt_control(_core.open("cpu"), trial("gelu"), Silent())
    (sides,) = timed
    assert sides.candidate is sides.reference
    assert result.measurement is not None
    samples = result.measurement.samples
    assert samples.candidate_window == samples.reference_window


def test_functions_are_timed_on_both_sides() -> None:
    asked: dict[str, list[int]] = {"one": [], "other": []}

    def counted(name: str):
        def run(passes: int) -> None:
            asked[name].append(passes)
            sum(range(100 * passes))

        return run

    measured = measure(_core.open("cpu"), Sides(counted("one"), counted("other")), QUICK)
    samples = measured.samples
    assert samples.candidate_ns.size == samples.reference_ns.size > 0
    assert samples.candidate_window in asked["one"]
    assert samples.reference_window in asked["other"]
    assert measured.ratio is not None
    assert samples.floor_ns.size == 0
    assert not measured.launch_bound


def test_a_kernel_by_both_paths_computes_the_same() -> None:
    # MLX's way is that of `metal_kernel`, which this project's engine goes where there is no Metal.
    device = _core.open("cpu")
    measured = control.measure_path(device, "small", QUICK)
    assert measured.reference_ns is not None


def test_a_path_that_computes_other_results_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    other = control.SOURCE.replace("0.25f", "0.125f")
    monkeypatch.setattr(control, "SOURCE", other)
    result = attempt_path(_core.open("cpu"), "small", QUICK, Silent())
    assert result.status is Status.FAILED
    assert "one of them does not run this kernel" in result.failures[0].message


def test_the_path_control_without_a_gpu_of_mlx_fails_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from metalbench import reference

    monkeypatch.setattr(reference, "create_reference", lambda *_: (None, ("no GPU here",)))
    result = attempt_path(_core.open("cpu"), "small", QUICK, Silent())
    assert result.status is Status.FAILED
    assert "[path_control] no GPU here" in result.failures[0].message
