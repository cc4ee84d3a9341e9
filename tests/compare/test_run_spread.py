"""The spread of runs of one program enters the comparison of two runs."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from example_results import correct, on_gpu
from example_rows import kept, results, row
from rich.console import Console

from metalbench.compare.comparison import compare
from metalbench.compare.results import ComparedRow, ResultSet
from metalbench.report import comparison as report
from metalbench.report.console import PIPE_WIDTH
from metalbench.stats import Judgement, Verdict
from metalbench.stats.unpaired import UNREPEATED, RunSpread
from metalbench.store.environment import environment
from metalbench.store.store import Store


def test_two_unrepeated_runs_are_judged_with_the_assumed_spread() -> None:
    def judged(after: ComparedRow) -> Judgement:
        before = results("a", row(), others=0)
        (compared,) = compare(before, results("b", after, others=0)).compared
        assert compared.between == UNREPEATED
        return compared.judgement

    assert judged(row(time_ns=900.0)).verdict is Verdict.FASTER
    for time_ns in (1000.0, 970.0):
        unsure = judged(row(time_ns=time_ns))
        assert unsure.verdict is Verdict.INCONCLUSIVE
        assert "it has few runs" in unsure.reasons[0].seen


def test_the_report_states_the_assumed_run_spread() -> None:
    before, known = results("a", row(), row("relu"), others=0), results("b", row(), row("relu"))
    never = replace(known, others={row().key: known.others[row().key]})
    for after, words in (
        (
            results("b", row(), others=0),
            "1% is the least, which is assumed where fewer than 5 runs",
        ),
        (never, "1% is the least of 1 of 2 kernels, which is assumed"),
    ):
        console = Console(file=io.StringIO(), width=PIPE_WIDTH, highlight=False)
        console.print(report.comparison_report(compare(before, after), console))
        assert isinstance(console.file, io.StringIO)
        assert words in console.file.getvalue()


def test_runs_with_known_small_spread_are_distinguished() -> None:
    known = results("b", row(time_ns=970.0), others=8)
    (compared,) = compare(results("a", row(), others=0), known).compared
    assert compared.judgement.verdict is Verdict.FASTER
    assert compared.between == RunSpread(0.0, 7)


def test_runs_against_another_mlx_do_not_estimate_the_spread() -> None:
    after = row(ratio=2.0)
    others = {after.key: tuple(kept(replace(after, reference=(None, "0.29")), i) for i in range(8))}
    known = replace(results("b", after), others=others)
    (compared,) = compare(results("a", row(ratio=2.0), others=0), known).compared
    assert compared.between == UNREPEATED


@pytest.mark.parametrize("others", [0, 1, 2, 4, 16])
def test_runs_that_differ_by_a_percent_are_rarely_distinguished(others: int) -> None:
    """The level of each run differs by 1 %, which is beyond its interval of 0.4 %."""
    random = np.random.default_rng(others)
    trials, false = 1000, 0
    for _ in range(trials):
        levels = [row(time_ns=1000 * random.lognormal(0.0, 0.01)) for _ in range(others + 2)]
        *earlier, before, after = levels
        past = [kept(each, run) for run, each in enumerate((*earlier, before))]
        known = ResultSet("b", "cpu (Example CPU)", (after,), {after.key: tuple(past[::-1])})
        (compared,) = compare(results("a", before, others=0), known).compared
        false += compared.judgement.verdict in (Verdict.FASTER, Verdict.SLOWER)
    print(f"\n{others} other runs: {false / trials:.1%} false")
    assert false <= 0.05 * trials


def test_the_store_knows_the_other_runs_under_the_same_conditions(tmp_path: Path) -> None:
    with Store(tmp_path / "results.db") as store:
        for each in (correct(), correct("relu"), on_gpu(correct()), correct(seed=1), correct()):
            store.record(store.begin_run({}, each.device, environment()), each)
        found = ResultSet.of_run(store, 5, "run:5")
    ((key, others),) = found.others.items()
    assert key == found.rows[0].key
    assert [each.run for each in others] == [4, 1]
