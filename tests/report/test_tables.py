"""Printed reports: at terminals of several widths, and into pipes."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from example_results import (
    CPU,
    correct,
    failed,
    incorrect,
    measurement,
    on_gpu,
    without_interval,
)
from rich.console import Console, RenderableType

from metalbench.measure.analysis import Roofline, Target
from metalbench.measure.device_limits import Peaks
from metalbench.report import numbers
from metalbench.report.console import PIPE_WIDTH
from metalbench.report.results import (
    describe_machine_roof,
    failures,
    full_report,
    results_table,
    sort_results,
    suite_report,
)
from metalbench.report.summary import suite_ratio, summary_lines
from metalbench.report.warnings import SIMULATION, simulation_notice
from metalbench.stats import Interval
from metalbench.store.result import DeviceFacts, Failure, Result

RESULTS = [correct("scaled_dot_product"), incorrect("relu"), failed("gelu")]


def terminal(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)


def pipe() -> Console:
    return Console(file=io.StringIO(), width=PIPE_WIDTH, highlight=False)


def printed(renderable: RenderableType, console: Console) -> str:
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_pipe_gets_one_plain_line_for_each_kernel() -> None:
    console = pipe()
    lines = printed(results_table(RESULTS, console), console).splitlines()
    assert len(lines) == 1 + len(RESULTS)
    assert lines[0].split("  ")[0] == "task"
    assert " ".join(lines[1].split()) == (
        "scaled_dot_product correct 12.35 us [12.26, 12.44] 24.7 us [24.6, 24.8] "
        "2.01x [1.99, 2.02] FASTER 425 679"
    )
    assert lines[2].split() == ["relu", "incorrect", *"-----"]
    assert all(ord(letter) < 128 for line in lines for letter in line)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_results_table_fits_usual_widths(width: int) -> None:
    console = terminal(width)
    text = printed(results_table(RESULTS, console), console)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for part in ("scaled_dot_product", "12.35 us", "[12.26, 12.44]", "2.01x", "FASTER", "425"):
        assert part in text


def test_failures_show_stage_and_compiler_messages() -> None:
    text = printed(failures(RESULTS), pipe())
    assert "gelu (float32): failed at compile" in text
    assert "  gelu.metal:7:9: error: use of undeclared identifier 'tid'" in text
    assert "relu (float32): incorrect at verify" in text


def test_faults_of_checked_builds_point_to_the_command_that_shows_all() -> None:
    hint = "`metalbench check` shows all of them"
    assert hint not in printed(failures(RESULTS), pipe())
    race = replace(RESULTS[-1], failures=(Failure("verify", "RACE", "race in x"),))
    assert hint in printed(failures([race]), pipe())


def test_the_full_report_has_every_part() -> None:
    text = printed(full_report(correct(), Target.SPEED), pipe())
    for part in (
        "softmax  correct  speed 2.01 x MLX  FASTER",
        "cpu (Example CPU, 2 cores)",
        "128 x 1 x 1 of at most 1024 a threadgroup: 4 SIMD-groups",
        "64 of 32768 bytes",
        "42.0 % of the bound: y[0, 0] of size odd1, seed 1: expected 1, got 2",
        "12.35 us [12.26, 12.44]",
        "24.7 us [24.6, 24.8]  (mx.softmax)",
        "2.01x [1.99, 2.02] FASTER",
        "GFLOP/s",
        "GB/s",
        "0.625 FLOP/byte (5.24 MFLOP, 8.00 MiB)",
        "roofline",
        "98 % confidence",
        *(target.value for target in Target),
    ):
        assert part in text


@pytest.mark.parametrize(
    ("peaks", "cache_bytes", "text"),
    [
        # The kernel has 425 GFLOP/s and 679 GB/s, 8 MiB a pass.
        (Peaks(850.0, 10_000.0, "there", 20_000.0), 0, "compute-bound, at 49.9 % of 850 GFLOP/s"),
        (Peaks(9e3, 1_000.0, "there", 2_000.0), 0, "at 67.9 % of 1000 GB/s of copies in memory"),
        (Peaks(9e3, 1_000.0, "there", 2_000.0), 1 << 23, "at 34.0 % of 2000 GB/s of copies in the"),
        (Peaks(9e3, 1_000.0, "there"), 1 << 23, "67.9 % of 1000 GB/s of copies in memory"),
        (Peaks(9e3, 100.0, "there", 200.0), 1 << 23, "memory-bound, above 200 GB/s of copies in"),
    ],
)
def test_the_full_report_has_the_roof_of_the_machine(
    peaks: Peaks, cache_bytes: int, text: str
) -> None:
    result = correct()
    line = describe_machine_roof(result, peaks, cache_bytes)
    assert text in line
    report = printed(full_report(result, Target.SPEED, line), pipe())
    (shown,) = [each for each in report.splitlines() if "roofline" in each]
    assert text in shown
    assert describe_machine_roof(failed(), peaks, cache_bytes) == ""


@pytest.mark.parametrize("result", [correct(), incorrect(), failed()])
def test_full_reports_of_the_cpu_mention_the_simulation(result: Result) -> None:
    assert SIMULATION in printed(full_report(result, Target.SPEED), pipe())


def test_a_real_devices_report_does_not() -> None:
    gpu = DeviceFacts("metal", "Apple M4", "m4", 10)
    assert simulation_notice(gpu) is None
    text = printed(full_report(replace(correct(), device=gpu), Target.SPEED), pipe())
    assert SIMULATION not in text


def test_results_table_has_a_column_of_gpu_time_on_a_gpu() -> None:
    results = [on_gpu(correct()), incorrect("relu")]
    lines = printed(results_table(results, pipe()), pipe()).splitlines()
    columns = re.split(r"  +", lines[0])
    assert columns[4:7] == ["MLX / kernel", "GPU time", "GFLOP/s"]
    measured = results[0].measurement
    assert measured is not None
    assert re.split(r"  +", lines[1])[5] == numbers.time(measured.gpu_ns)
    assert lines[2].split() == ["relu", "incorrect", *"------"]
    assert "GPU time" not in printed(results_table(RESULTS, pipe()), pipe())


def test_results_table_has_columns_of_both_ratios() -> None:
    result = on_gpu(correct(), reference_timed=True)
    measured = result.measurement
    assert measured is not None
    lines = printed(results_table([result, incorrect("relu")], pipe()), pipe()).splitlines()
    assert re.split(r"  +", lines[0])[4:7] == ["MLX / kernel", "by wall time", "GFLOP/s"]
    cells = re.split(r"  +", lines[1])
    assert cells[4:6] == [
        f"{numbers.ratio(measured.gpu_ratio)} FASTER",
        numbers.ratio(measured.wall_ratio),
    ]
    assert lines[2].split() == ["relu", "incorrect", *"------"]


@pytest.mark.parametrize("width", [80, 100, 200])
def test_both_ratios_fit_usual_widths(width: int) -> None:
    console = terminal(width)
    results = [on_gpu(correct("scaled_dot_product"), reference_timed=True), incorrect("relu")]
    text = printed(results_table(results, console), console)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert results[0].measurement is not None
    for ratio in (results[0].measurement.gpu_ratio, results[0].measurement.wall_ratio):
        assert ratio is not None
        assert f"{numbers.estimate(ratio)}x" in text


def test_the_full_report_has_both_ratios_and_launch_times() -> None:
    result = on_gpu(correct(), reference_timed=True)
    measured = result.measurement
    assert measured is not None
    text = " ".join(printed(full_report(result, Target.SPEED), pipe()).split())
    assert f"MLX / kernel {numbers.ratio(measured.gpu_ratio)} FASTER" in text
    assert f"by wall time {numbers.ratio(measured.wall_ratio)}" in text
    assert "verdicts are of GPU time" in text
    assert "floor 500 ns for an empty kernel" in text
    assert "4.50 % of the GPU time is what launching empty kernels takes" in text


def test_an_opposite_wall_time_is_reported() -> None:
    result = on_gpu(correct(), reference_timed=True)
    measured = result.measurement
    assert measured is not None
    assert measured.by_wall is not None
    assert "opposite" not in printed(full_report(result, Target.SPEED), pipe())
    slower = replace(measured.by_wall, ratio=Interval(0.8, 0.79, 0.81))
    told = replace(result, measurement=replace(measured, by_wall=slower))
    text = " ".join(printed(full_report(told, Target.SPEED), pipe()).split())
    assert "Wall time says the opposite: MLX / kernel is 1.67x" in text
    assert "of GPU time and 0.80x [0.79, 0.81] of wall time" in text


def test_a_run_of_both_clocks_says_which_kernel_has_which() -> None:
    results = [on_gpu(correct("relu"), reference_timed=True), on_gpu(correct("gelu"))]
    text = " ".join(printed(suite_report(results, pipe(), 1.0), pipe()).split())
    assert "relu: Times, ratios and verdicts are of GPU time" in text
    assert "gelu: Kernel, MLX and their ratio are wall times" in text


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_a_table_with_gpu_time_fits_any_usual_width(width: int) -> None:
    console = terminal(width)
    results = [on_gpu(correct("scaled_dot_product")), incorrect("relu"), failed("gelu")]
    text = printed(results_table(results, console), console)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    measured = results[0].measurement
    assert measured is not None
    assert measured.gpu_ns is not None
    for part in ("GPU time", numbers.time(measured.gpu_ns).split(" [")[0], "FASTER"):
        assert part in text


@pytest.mark.parametrize(("is_known", "words"), [(False, "are wall times"), (True, "of GPU time")])
def test_reports_say_which_clock_the_ratio_is_on(is_known: bool, words: str) -> None:
    result = on_gpu(correct(), reference_timed=is_known)
    for report in (suite_report([result], pipe(), 1.0), full_report(result, Target.SPEED)):
        text = printed(report, pipe())
        assert words in text
    assert "clock" not in printed(suite_report([correct()], pipe(), 1.0), pipe())


def test_the_full_report_shows_gpu_time_and_the_devices_state() -> None:
    text = printed(full_report(on_gpu(correct()), Target.SPEED), pipe())
    for part in (
        "metal (Apple M4, m4, 10 cores)",
        "low power mode no, thermal state nominal, allocated 12.0 MiB",
        "GPU time",
    ):
        assert part in text


def test_notes_are_printed_once_with_their_tasks() -> None:
    slow, hot = "the machine is slow", "the machine is hot"
    results = [
        replace(correct("softmax"), notes=(slow, hot)),
        replace(correct("relu"), notes=(slow,)),
    ]
    lines = printed(suite_report(results, pipe(), 1.0), pipe()).splitlines()
    assert [line for line in lines if "machine" in line] == [
        f"all kernels: {slow}.",
        f"softmax: {hot}.",
    ]
    assert hot in printed(full_report(results[0], Target.SPEED), pipe())


@pytest.mark.parametrize("target", list(Target))
def test_the_target_is_the_headline(target: Target) -> None:
    first = printed(full_report(correct(), target), pipe()).splitlines()[0]
    assert first.startswith(f"softmax  correct  {target.value} ")


def test_an_impossible_time_is_said_to_be_invalid() -> None:
    result = correct()
    assert result.analysis is not None
    roof = Roofline("memory", None, False, "12 ns is below the floor of 20 ns (data sheet)")
    odd = replace(result, analysis=replace(result.analysis, roofline=roof))
    text = printed(full_report(odd, Target.SPEED), pipe())
    assert "invalid: 12 ns is below the floor" in text


def test_the_summary_counts_and_averages() -> None:
    lines = summary_lines([*RESULTS, correct("softmax", seed=1)], 127.0)
    assert lines[0] == "2 of 4 correct, in 2 min 07 s."
    assert lines[1].startswith(
        "Against MLX: 2 FASTER. Geometric mean of the ratios of 2 of 4 kernels "
        "(without relu, gelu): 2.00"
    )


def test_suite_ratio_ignores_ratios_without_an_interval() -> None:
    assert suite_ratio([correct(), without_interval(correct())]) is None
    assert suite_ratio([correct(), correct(seed=1), without_interval(correct())]) is not None


def test_the_mean_says_which_kernels_it_covers() -> None:
    def mean(*results: Result) -> str:
        return summary_lines(results, 1.0)[-1].partition("ratios of ")[2].partition(":")[0]

    assert mean(correct(), correct("relu")) == "all 2 kernels"
    few = without_interval(correct("gelu"))
    assert mean(correct(), correct("relu"), few) == "2 of 3 kernels (without gelu)"
    half = replace(few, case=replace(few.case, task="relu", dtype="float16"))
    assert mean(correct(), correct("relu"), half).endswith("(without relu (float16))")


def test_an_unbounded_interval_is_explained() -> None:
    few = without_interval(correct())
    for renderable in (
        suite_report([few, correct()], pipe(), 1.0),
        full_report(few, Target.SPEED),
    ):
        text = printed(renderable, pipe())
        assert "(no interval): the samples are too few" in " ".join(text.split())
    text = printed(suite_report([correct()], pipe(), 1.0), pipe())
    assert "(no interval)" not in text
    assert SIMULATION in text


def test_the_device_of_the_examples_is_a_simulation() -> None:
    assert simulation_notice(CPU) == SIMULATION


def with_speed(task: str, reference: float) -> Result:
    return replace(correct(task), measurement=measurement(reference=reference))


def test_rows_are_sorted_by_ratio_and_incorrect_kernels_are_last() -> None:
    results = [incorrect("relu"), with_speed("abs", 0.5), with_speed("exp", 3.0), correct()]
    by_ratio = [each.case.task for each in sort_results(results, "ratio")]
    assert by_ratio == ["exp", "softmax", "abs", "relu"]
    by_name = [each.case.task for each in sort_results(results, "name")]
    assert by_name == ["abs", "exp", "relu", "softmax"]
    assert sort_results(results, "run") == results
    lines = printed(suite_report(results, pipe(), 1.0), pipe()).splitlines()
    assert [line.split()[0] for line in lines[1:5]] == by_ratio


def test_columns_with_one_value_are_left_out() -> None:
    header = printed(results_table([correct("abs"), correct()], pipe()), pipe()).splitlines()[0]
    assert re.split(r"  +", header) == ["task", "kernel", "MLX", "MLX / kernel", "GFLOP/s", "GB/s"]
    case = replace(correct().case, dtype="float16")
    half = replace(correct(), case=case)
    header = printed(results_table([half, incorrect()], pipe()), pipe()).splitlines()[0]
    assert re.split(r"  +", header)[:3] == ["task", "dtype", "correct"]


def test_the_summary_is_the_end_of_the_report() -> None:
    text = printed(suite_report(RESULTS, pipe(), 127.0), pipe()).rstrip()
    assert text.splitlines()[-2] == "1 of 3 correct, in 2 min 07 s."
    assert text.splitlines()[-1].startswith("Against MLX: 1 FASTER.")
    assert text.index(SIMULATION) < text.index("1 of 3 correct")
