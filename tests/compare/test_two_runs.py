"""Two runs: what compares, what it says, and what is refused."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from example_results import CPU, GPU, correct, incorrect, on_gpu
from example_rows import results, row
from rich.console import Console

from metalbench.compare.comparison import RunComparison, compare
from metalbench.compare.results import ComparedRow, ResultSet, find_latest
from metalbench.errors import MetalBenchError, StoreError
from metalbench.report import comparison as report
from metalbench.report.console import PIPE_WIDTH
from metalbench.report.export import to_json
from metalbench.stats import Verdict
from metalbench.store.environment import environment
from metalbench.store.store import Store


def verdicts(before: ComparedRow, after: ComparedRow) -> tuple[Verdict, str]:
    (compared,) = compare(results("a", before), results("b", after)).compared
    return compared.judgement.verdict, compared.by


def test_a_shorter_time_is_faster() -> None:
    assert verdicts(row(time_ns=1000.0), row(time_ns=900.0)) == (Verdict.FASTER, "time")
    assert verdicts(row(time_ns=900.0), row(time_ns=1000.0)) == (Verdict.SLOWER, "time")
    assert verdicts(row(), row()) == (Verdict.SAME, "time")


def test_a_slow_run_cancels_in_ratios_to_mlx() -> None:
    """The second run was 30 % slower altogether, MLX included."""
    assert verdicts(row(ratio=2.0), row(time_ns=1300.0, ratio=2.0)) == (Verdict.SAME, "MLX")


def test_ratios_to_different_references_do_not_compare_times_do() -> None:
    other = replace(row(ratio=1.0), reference=("mx.fast", "0.32"))
    assert verdicts(row(ratio=2.0), other) == (Verdict.SAME, "time")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mode": "cold"}, r"same mode in both, got warm in a and cold in b"),
        ({"engine": "vectors"}, r"same engine in both, got fibers in a and vectors in b"),
        ({"sizes": {"n": 1}}, r"same size in both, got seed \(n 4096\) in a and seed \(n 1\) in b"),
    ],
)
def test_compare_refuses_incomparable_runs(change: dict[str, object], words: str) -> None:
    with pytest.raises(MetalBenchError, match=words):
        compare(results("a", row()), results("b", replace(row(), **change)))  # type: ignore[arg-type]


def test_kernels_with_verdicts_of_different_clocks_are_left_out() -> None:
    wall, own = (replace(row(), clock=clock) for clock in ("wall time", "GPU time"))
    found = compare(results("a", wall, row("relu")), results("b", own, row("relu")))
    assert [each.task for each in found.compared] == ["relu"]
    why = "verdicts of different clocks do not compare: wall time in a, GPU time in b"
    assert found.left_out == (("softmax", why),)
    with pytest.raises(MetalBenchError, match=r"no kernel in common .* wall time in a, GPU time"):
        compare(results("a", wall), results("b", own))


def test_devices_do_not_compare() -> None:
    with pytest.raises(MetalBenchError, match=r"same device in both, got cpu .* metal \(M4\) in b"):
        compare(results("a", row()), results("b", row(), device="metal (M4)"))


def test_kernels_without_a_time_in_both_are_left_out_with_the_reason() -> None:
    wrong = replace(row("relu"), status="incorrect", time_ns=None)
    found = compare(
        results("a", row(), row("relu"), row("gelu")), results("b", row(), wrong, row("argmax"))
    )
    assert [each.task for each in found.compared] == ["softmax"]
    assert found.left_out == (("gelu", "not in b"), ("argmax", "not in a"))
    assert [each.task for each in found.broken] == ["relu"]
    with pytest.raises(MetalBenchError, match=r"no kernel in common .* relu: no time in b"):
        compare(
            results("a", row("relu")), results("b", replace(row("relu"), time_ns=None, ratio=None))
        )


def print_report(found: RunComparison) -> str:
    console = Console(file=io.StringIO(), width=PIPE_WIDTH, highlight=False)
    console.print(report.comparison_report(found, console))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("before", "after", "words", "is_broken"),
    [
        ("correct", "incorrect", "relu: incorrect now, correct in a: nothing to compare", True),
        ("incorrect", "failed", "relu: failed now, incorrect in a: nothing to compare", True),
        ("incorrect", "correct", "relu: correct now, incorrect in a: nothing to compare", False),
        (None, "incorrect", "relu: incorrect now, not in a: nothing to compare", True),
    ],
)
@pytest.mark.parametrize("others", [[], [row()]])
def test_kernels_that_are_not_correct_in_one_run_are_rows_of_the_table(
    before: str | None, after: str, words: str, is_broken: bool, others: list[ComparedRow]
) -> None:
    def give(status: str | None) -> list[ComparedRow]:
        if status is None:
            return others
        is_right = status == "correct"
        one = replace(row("relu"), status=status, time_ns=row().time_ns if is_right else None)
        return [one, *others]

    found = compare(results("a", *give(before)), results("b", *give(after)))
    assert [each.task for each in found.compared] == [each.task for each in others]
    assert bool(found.broken) is is_broken
    text, page = print_report(found), report.to_markdown(found, only_changes=True)
    assert f"{words}." in text
    word = "BROKEN" if is_broken else "REPAIRED"
    for shown in (text, page):
        (line,) = [each for each in shown.splitlines() if "relu" in each and word in each]
        assert after in line or after == "correct"
        assert f"1 {word}" in shown
    (entry,) = json.loads(report.to_json(found))["incorrect"]
    assert (entry["task"], entry["before"], entry["after"]) == ("relu", before, after)


def test_runs_without_a_common_task_have_an_empty_comparison() -> None:
    found = compare(results("a", row()), results("b", row("relu")))
    assert (found.compared, found.incorrect) == ((), ())
    text = print_report(found)
    assert "relu: left out: not in a." in text
    assert "b against a: nothing to compare, for they have no kernel in common." in text
    assert compare(results("a"), results("b", row())).left_out == (("softmax", "not in a"),)


def test_a_run_that_is_compared_with_itself_is_named() -> None:
    one = replace(results("main", row()), run=3)
    found = compare(one, replace(one, name="run:3"))
    for text in (print_report(found), report.to_markdown(found)):
        assert "main and run:3 are the same run: it is compared with itself." in text
    other = compare(one, replace(one, name="run:4", run=4))
    assert "compared with itself" not in print_report(other)


def test_a_lucky_difference_among_many_kernels_is_not_significant() -> None:
    before = [row(f"task{i}") for i in range(100)]
    # p = 0.018: alone it would be FASTER.
    after = [row(f"task{i}", time_ns=1000.0 if i else 1000.0 / 1.0158) for i in range(100)]
    alone = compare(results("a", before[0]), results("b", after[0])).compared[0].judgement
    assert alone.verdict is Verdict.FASTER
    together = compare(results("a", *before), results("b", *after)).compared[0].judgement
    assert together.verdict is Verdict.INCONCLUSIVE
    assert "among 100 tasks" in together.reasons[0].seen


def test_the_mean_has_an_interval() -> None:
    found = compare(
        results("a", row(), row("relu")), results("b", row(time_ns=500.0), row("relu", 2000.0))
    )
    assert found.mean is not None
    assert math.isclose(found.mean.value, 1.0)
    assert found.mean.low < 1.0 < found.mean.high


def test_a_file_equals_the_run_that_it_was_exported_from(tmp_path: Path) -> None:
    here = environment()
    both = [on_gpu(correct()), replace(incorrect("relu"), device=GPU)]
    path = tmp_path / "results.json"
    path.write_text(to_json(both, GPU, here, {}))
    with Store(tmp_path / "results.db") as store:
        run = store.begin_run({}, GPU, here)
        for result in both:
            store.record(run, result)
        kept = ResultSet.of_run(store, run, "run:1")
        assert ResultSet.of_run(store, find_latest(store, 0, "latest"), kept.name) == kept
        with pytest.raises(
            StoreError, match="latest~1: expected 2 or more runs in this project, got 1"
        ):
            find_latest(store, 1, "latest~1")
        with pytest.raises(StoreError, match="run:7 does not exist; expected a run with"):
            ResultSet.of_run(store, 7, "run:7")
    read = ResultSet.of_file(path)
    assert read.rows == kept.rows
    assert read.device == kept.device
    assert kept.rows[0].time_ns == both[0].measurement.gpu_ns  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 1}', '{"schema": 9, "results": []}'])
def test_a_file_of_another_kind_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(MetalBenchError, match=r"other\.json: expected results"):
        ResultSet.of_file(path)


def test_the_report_states_the_basis_of_the_ratios() -> None:
    found = compare(
        results("run:1", row(ratio=2.0), row("relu"), row("gelu")),
        results("run:2", row(ratio=2.2), row("relu", 1100.0)),
    )
    console = Console(file=io.StringIO(), width=PIPE_WIDTH, highlight=False)
    console.print(report.comparison_report(found, console))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    for part in (
        "before / after",
        "1.100x [1.094, 1.106] FASTER",
        "softmax: its text is the same in both, so that FASTER is of its headers",
        "gelu: left out: not in run:2.",
        "run:2 against run:1: 1 FASTER, 1 SLOWER. Geometric mean of the ratios of "
        "2 of 3 kernels (without gelu): 1.000x",
        "a slower machine in one run cancels",
        "Ratios of times of separate runs",
        "Allowed for: runs of one source differ by up to 0.0% beyond their intervals.",
        "Benjamini-Hochberg",
        "simulation",
    ):
        assert part in text


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_comparison_report_fits_usual_widths(width: int) -> None:
    older, newer = row("scaled_dot_product", 123_400.0), row("scaled_dot_product", 111_100.0)
    found = compare(results("a/long/folder/before.json", older), results("after.json", newer))
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(report.comparison_report(found, console))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for part in ("scaled_dot_product", "123.4 us", "same", "FASTER"):
        assert part in text


def test_json_has_the_documented_keys() -> None:
    document = json.loads(report.to_json(compare(results("a", row()), results("b", row()))))
    assert report.__doc__ is not None
    for name in (*document, *document["compared"][0]):
        assert name in report.__doc__
    assert document["compared"][0]["verdict"] == "SAME"
    assert document["geometric_mean"] is None
    assert CPU.kind in document["device"]
