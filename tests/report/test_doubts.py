"""Warnings about missing verdicts and uncertain times."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from example_results import CPU, correct, incorrect
from numpy.typing import NDArray
from rich.console import Console, RenderableType

from metalbench.measure.analysis import Target
from metalbench.measure.measurement import (
    Measurement,
    Steadiness,
    TimingMode,
    warn_of_unequal_clocks,
)
from metalbench.report import numbers
from metalbench.report.console import PIPE_WIDTH
from metalbench.report.export import to_json
from metalbench.report.results import full_report, suite_report
from metalbench.report.summary import control_discoveries, discovery_line
from metalbench.report.warnings import (
    LAUNCH_BOUND,
    brief_mark_lines,
    brief_note_lines,
    brief_warning_lines,
    format_marks,
    list_warnings,
    warning_lines,
)
from metalbench.stats import (
    Cause,
    Interval,
    Verdict,
    assess,
    clock_resolution,
    find_drift,
    find_modes,
    find_outliers,
    median_interval,
    stability,
)
from metalbench.stats.judgement import explain_interval
from metalbench.store.environment import environment
from metalbench.store.result import Result

RANDOM = np.random.default_rng(5)
STEADY = 12_000.0 * RANDOM.lognormal(0.0, 0.005, 400)
NOISE = np.random.default_rng(6).lognormal(0.0, 0.005, 400)


def pipe() -> Console:
    return Console(file=io.StringIO(), width=PIPE_WIDTH, highlight=False)


def printed(renderable: RenderableType) -> str:
    console = pipe()
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def measured(
    kernel: NDArray[np.float64], reference: NDArray[np.float64] | None = None
) -> Measurement:
    """A measurement of these samples; the reference's are the same as the kernel's by default."""
    theirs = kernel * RANDOM.lognormal(0.0, 0.005, kernel.size) if reference is None else reference
    judgement = assess(theirs, kernel)
    before = correct().measurement
    assert before is not None
    samples = replace(before.samples, candidate_ns=kernel, reference_ns=theirs)
    return replace(
        before,
        samples=samples,
        candidate_ns=median_interval(kernel),
        ratio=judgement.ratio,
        verdict=judgement.verdict,
        judgement=judgement,
        stability=stability(kernel),
        outliers=int(find_outliers(kernel).sum()),
        drift=find_drift(np.log(kernel)),
        modes=find_modes(np.log(kernel), clock_resolution(kernel)),
    )


def result(measurement: Measurement, task: str = "softmax") -> Result:
    return replace(correct(task), measurement=measurement)


def titles(kernel: NDArray[np.float64]) -> list[str]:
    return [doubt.title for doubt in list_warnings(measured(kernel))]


def test_a_steady_kernel_is_not_warned_of() -> None:
    assert titles(STEADY) == []
    assert warning_lines([result(measured(STEADY)), incorrect()]) == []


def test_two_modes_are_both_shown_with_their_shares() -> None:
    two = np.where(RANDOM.random(400) < 0.6, 1.0, 1.2) * STEADY
    (doubt,) = list_warnings(measured(two))
    assert doubt.title == "Several usual times"
    for part in ("12.0 us in ", "14.4 us in ", "% of the windows", "Likely a clock"):
        assert part in str(doubt)
    text = printed(full_report(result(measured(two)), Target.SPEED))
    assert "usual times" in text
    document = json.loads(to_json([result(measured(two))], CPU, environment(), {}))
    shares = [mode["share"] for mode in document["results"][0]["usual_times"]]
    assert len(shares) == 2
    assert sum(shares) == pytest.approx(1.0)


def test_list_warnings_reports_a_drift_with_its_size() -> None:
    (doubt,) = list_warnings(measured(STEADY * np.linspace(1.0, 1.1, 400)))
    assert doubt.title == "Drift"
    assert doubt.seen.startswith(("+9.", "+10."))


def test_outliers_are_reported_only_if_they_are_many() -> None:
    few, many = STEADY.copy(), STEADY.copy()
    few[[50, 200]] *= 3.0
    many[RANDOM.choice(400, 40, replace=False)] *= RANDOM.uniform(2.0, 9.0, 40)
    assert titles(few) == []
    assert "Outliers" in titles(many)


def test_a_slow_first_window_is_a_slow_start() -> None:
    late = STEADY.copy()
    late[0] *= 5.0
    (doubt,) = list_warnings(measured(late))
    assert doubt.title == "Slow start"
    assert "5.0 times the median" in doubt.seen


def test_a_disturbed_probe_reports_a_busy_machine() -> None:
    busy = replace(measured(STEADY), steadiness=Steadiness(spread=0.3))
    (doubt,) = list_warnings(busy)
    assert doubt.title == "Busy machine"
    assert "30 % longer" in doubt.seen


def test_a_gpu_with_its_own_clock_reports_no_busy_machine() -> None:
    busy = replace(measured(STEADY), steadiness=Steadiness(spread=0.3))
    samples = replace(busy.samples, own=object())  # type: ignore[arg-type]
    assert list_warnings(replace(busy, samples=samples)) == []


def test_a_spread_without_another_name_is_unsteady() -> None:
    assert titles(12_000.0 * RANDOM.lognormal(0.0, 0.15, 400)) == ["Unsteady times"]


def test_warning_lines_groups_kernels_by_warning() -> None:
    drifting = measured(STEADY * np.linspace(1.0, 1.1, 400))
    (line,) = warning_lines([result(drifting, "relu"), result(drifting, "gelu")])
    assert line.startswith("Drift: relu (+")
    assert "gelu (+" in line
    assert line.count("Likely") == 1


def test_an_inconclusive_verdict_has_its_reason_and_remedy() -> None:
    wide = measured(STEADY, STEADY * 1.02 * RANDOM.lognormal(0.0, 0.2, 400))
    assert wide.verdict is Verdict.INCONCLUSIVE
    (line,) = format_marks([result(wide)])
    assert line.startswith("softmax: INCONCLUSIVE: the ratio's interval is ")
    assert "measure about" in line
    for report in (
        suite_report([result(wide), correct()], pipe(), 1.0),
        full_report(result(wide), Target.SPEED),
    ):
        assert "the ratio's interval is" in printed(report)


def test_throttling_and_launches_are_marked_and_explained() -> None:
    hot = replace(measured(STEADY), verdict=Verdict.THROTTLED)
    short = replace(measured(STEADY), floor_ns=10_000.0)
    lines = list(format_marks([result(hot), result(short, "relu")]))
    assert lines[0].startswith("softmax: THROTTLED: the device's clock stayed low")
    assert lines[1].startswith("relu: LAUNCH-BOUND: a pass takes 12.0 us, an empty kernel")
    text = printed(suite_report([result(hot), result(short, "relu")], pipe(), 1.0))
    rows = {line.split()[0]: line for line in text.splitlines()[1:3]}
    assert "THROTTLED" in rows["softmax"]
    assert rows["relu"].count(LAUNCH_BOUND) == 1


def test_a_lucky_verdict_among_many_kernels_is_not_significant() -> None:
    """One difference that only just stands alone does not stand among a hundred."""
    random = np.random.default_rng(8)
    shifts = np.linspace(1.0110, 1.0125, 16)
    noise = random.lognormal(0.0, 0.005, 400)
    verdicts = {shift: measured(STEADY, STEADY * shift * noise) for shift in shifts}
    lucky = next(each for each in verdicts.values() if each.verdict is Verdict.FASTER)
    same = result(measured(STEADY))
    (alone,) = control_discoveries([result(lucky)])
    assert alone.measurement is not None
    assert alone.measurement.verdict is Verdict.FASTER
    together = control_discoveries([result(lucky), incorrect(), *[same] * 98])
    first = together[0].measurement
    assert first is not None
    assert first.judgement is not None
    assert first.verdict is Verdict.INCONCLUSIVE
    assert [reason.cause for reason in first.judgement.reasons] == [Cause.DISCOVERY]
    assert together[1:] == (incorrect(), *[same] * 98)


def test_drifting_verdicts_are_not_counted_as_discoveries() -> None:
    slipping = measured(STEADY, STEADY * np.linspace(0.99, 1.07, 400) * NOISE)
    assert slipping.judgement is not None
    assert Cause.DRIFT in [reason.cause for reason in slipping.judgement.reasons]
    line = discovery_line([result(slipping), correct(), correct("relu")])
    assert line is not None
    assert "these 2 verdicts at most 5%" in line


def few(count: int = 24) -> Measurement:
    """Pairs that take one level for a while, then another."""
    noise = np.random.default_rng(3)
    levels = np.repeat(noise.normal(0.0, 0.05, count // 3), 3)
    kernel = 12_000.0 * np.exp(levels + noise.normal(0.0, 0.002, count))
    return measured(kernel, 36_000.0 * noise.lognormal(0.0, 0.002, count))


def test_reports_of_few_pairs_show_the_stored_interval() -> None:
    shown = few()
    assert shown.judgement is not None
    blocks = shown.judgement.blocks
    assert blocks is not None
    assert shown.verdict is Verdict.FASTER
    for report in (
        suite_report([result(shown), correct("relu")], pipe(), 1.0),
        full_report(result(shown), Target.SPEED),
    ):
        text = printed(report)
        assert f"{numbers.ratio(shown.ratio)} FASTER" in text
        assert "(no interval)" not in text
    plain = printed(suite_report([correct(), correct("relu")], pipe(), 1.0))
    assert "{" not in plain
    entry = json.loads(to_json([result(shown)], CPU, environment(), {}))["results"][0]
    assert entry["blocks"] == {"value": blocks.value, "low": blocks.low, "high": blocks.high}


def test_list_warnings_reports_large_order_effects_and_levels() -> None:
    before = measured(STEADY)
    assert before.judgement is not None

    def doubts(**seen: float) -> list[str]:
        judgement = replace(before.judgement, **seen)  # type: ignore[type-var]
        return list(map(str, list_warnings(replace(before, judgement=judgement))))

    (order,) = doubts(order_effect=0.02)
    assert order.startswith("Order of the pair: what runs second takes 2.0 % longer.")
    assert "removed from the ratio" in order
    assert "2.0 % less" in doubts(order_effect=-0.02)[0]
    (levels,) = doubts(batch_spread=0.03)
    assert "the ratio differs by 3.0 % between batches" in levels
    assert doubts(order_effect=0.003, batch_spread=0.002) == []


def test_reports_mention_cold_inputs() -> None:
    cold = result(replace(measured(STEADY), mode=TimingMode.COLD))
    assert "Inputs are cold" in printed(suite_report([cold], pipe(), 1.0))
    assert "cold: each pass takes other copies" in printed(full_report(cold, Target.SPEED))
    assert "Inputs are cold" not in printed(suite_report([correct()], pipe(), 1.0))


def test_throttled_results_take_no_part_and_stay_throttled() -> None:
    hot = result(replace(measured(STEADY), verdict=Verdict.THROTTLED))
    together = control_discoveries([hot, correct(), correct("relu")])
    assert together[0] == hot
    line = discovery_line(together)
    assert line is not None
    assert "these 2 verdicts at most 5%" in line
    assert discovery_line([correct(), hot]) is None


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_the_longest_warnings_fit_usual_widths(width: int) -> None:
    wide = measured(STEADY, STEADY * 1.02 * RANDOM.lognormal(0.0, 0.2, 400))
    both = result(replace(wide, floor_ns=10_000.0), "scaled_dot_product")
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(suite_report([both, correct()], console, 1.0))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    table = text.partition("INCONCLUSIVE:")[0]
    assert "INCONCLUSIVE" in table
    assert LAUNCH_BOUND in table


def test_brief_warnings_are_grouped_by_their_worst_effect() -> None:
    drifting = measured(STEADY * np.linspace(1.0, 1.1, 400))
    busy = replace(drifting, steadiness=Steadiness(spread=0.3))
    results = [result(drifting, "relu"), result(busy, "gelu"), result(busy, "exp")]
    assert brief_warning_lines(results) == [
        "Other load may have affected 2 verdicts: gelu, exp.",
        "Times of 1 kernel vary; their ratios, which are of pairs, hold: relu.",
    ]


def test_many_marks_are_one_line_for_each_kind() -> None:
    wide = measured(STEADY, STEADY * 1.02 * RANDOM.lognormal(0.0, 0.2, 400))
    results = [result(wide, f"kernel{index}") for index in range(7)]
    assert brief_mark_lines(results[:3]) == list(format_marks(results[:3]))
    (line,) = brief_mark_lines(results)
    assert line.startswith("7 kernels INCONCLUSIVE: kernel0, kernel1, kernel2, kernel3, kernel4 ")
    assert "and 2 more. Measure longer" in line


def test_notes_of_one_kind_are_one_line() -> None:
    def noted(task: str, share: int) -> Result:
        note = f"MLX's call overhead is more than 10% of the reference: up to {share}%"
        return replace(correct(task), notes=(note,))

    results = [*(noted(f"kernel{index}", index) for index in range(30)), correct("softmax")]
    assert brief_note_lines(results) == [
        "30 kernels (kernel0, kernel1, kernel2, kernel3, kernel4 and 25 more): MLX's call overhead "
        "is more than 10% of the reference."
    ]
    assert brief_note_lines([results[3], correct("softmax")]) == [
        "kernel3: MLX's call overhead is more than 10% of the reference: up to 3%."
    ]


def test_absurd_figures_of_a_disturbed_machine_are_capped() -> None:
    wild = STEADY * np.exp(np.linspace(0.0, 12.0, 400))
    disturbed = replace(measured(wild), steadiness=Steadiness(spread=2706.0))
    texts = [str(each) for each in list_warnings(disturbed)]
    assert any("more than 10 times as long at times" in each for each in texts)
    assert any("+more than 1000 % from the first window" in each for each in texts)
    far = explain_interval(Interval(1.0, 1e-9, 1.5e10), 0.01)
    assert str(far).startswith("the ratio's interval has no useful end, for a margin of 1.0%")
    clocks = warn_of_unequal_clocks(Interval(28.06, 27.0, 29.0))
    assert clocks is not None
    assert "takes more than 900% longer" in clocks
