"""One result in every form of report: all of them print the interval that is stored."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from example_results import CPU, correct
from rich.console import Console

from metalbench.compare.results import group_histories, row_from_entry
from metalbench.measure.analysis import Target
from metalbench.report import numbers
from metalbench.report.ci import to_junit, to_markdown
from metalbench.report.console import PIPE_WIDTH
from metalbench.report.export import to_csv, to_json
from metalbench.report.history import history_json, history_tables
from metalbench.report.page.document import to_html
from metalbench.report.page.model import page_of_results
from metalbench.report.results import full_report, suite_report
from metalbench.stats import BlockRange, Interval, assess, median_interval
from metalbench.store.environment import environment
from metalbench.store.store import Store


def printed(renderable):
    console = Console(file=io.StringIO(), width=4 * PIPE_WIDTH, highlight=False)
    console.print(renderable)
    return console.file.getvalue()


def with_ratio(ratio):
    result = correct()
    changed = replace(result.measurement, ratio=ratio)
    return replace(result, measurement=changed)


def with_blocks():
    """Few pairs, much alike: their judgement has blocks in addition to the interval."""
    noise = np.random.default_rng(3)
    levels = np.repeat(noise.normal(0.0, 0.05, 8), 3)
    kernel = 12_000.0 * np.exp(levels + noise.normal(0.0, 0.002, 24))
    mlx = 36_000.0 * noise.lognormal(0.0, 0.002, 24)
    judgement = assess(mlx, kernel)
    assert judgement.blocks is not None
    ratio = judgement.ratio
    narrower = BlockRange(ratio.value, 1.05 * ratio.low, 0.95 * ratio.high)
    judgement = replace(judgement, blocks=narrower)
    measured = replace(
        correct().measurement,
        candidate_ns=median_interval(kernel),
        reference_ns=median_interval(mlx),
        ratio=judgement.ratio,
        judgement=judgement,
        verdict=judgement.verdict,
    )
    return replace(correct(), measurement=measured)


HOSTILE = {
    "usual": (correct, 2),
    "blocks": (with_blocks, 2),
    "infinitely wide": (lambda: with_ratio(Interval(2.4, 0.0, 12_621_475_651_015.0)), 0),
    "no upper end": (lambda: with_ratio(Interval(2.4, 0.4, 12_621_475_651_015.0)), 1),
    "no lower end": (lambda: with_ratio(Interval(2.4, 1e-9, 6.0)), 1),
    "a point": (lambda: with_ratio(Interval(2.4, 2.4, 2.4)), 2),
    "tiny": (lambda: with_ratio(Interval(0.00012, 0.00011, 0.00013)), 2),
}


def history_of(result, tmp_path):
    with Store(tmp_path / "results.db") as store:
        run = store.begin_run({}, CPU, environment())
        store.record(run, result)
        return store.history("softmax")


@pytest.mark.parametrize("name", HOSTILE)
def test_every_report_has_the_same_interval(name, tmp_path):
    make, ends = HOSTILE[name]
    result = make()
    stored = result.measurement.ratio
    said = numbers.ends(stored)
    terminal = printed(suite_report([result, correct("relu")], Console(width=400), 1.0))
    full = printed(full_report(result, Target.SPEED))
    page = to_html(page_of_results([result], CPU, environment(), 1.0))
    kept = history_of(result, tmp_path)
    tables = " ".join(
        printed(table) for _, table in history_tables(kept, Console(width=4 * PIPE_WIDTH))
    )
    for text in (terminal, full, to_markdown([result], 1.0), to_junit([result])):
        assert numbers.ratio(stored) in text.replace("&gt;", ">").replace("&lt;", "<")
    assert said in page.replace("&gt;", ">").replace("&lt;", "<")
    assert said in tables
    of_json = json.loads(to_json([result], CPU, environment(), {}))["results"][0]["ratio"]
    of_history = json.loads(history_json("softmax", list(group_histories(kept))))
    (row,) = csv.DictReader(io.StringIO(to_csv([result])))
    low, high = stored.useful_ends
    assert (of_json["low"], of_json["high"]) == (low, high)
    assert [float(row[f"ratio_{end}"] or "nan") for end in ("low", "high")] == pytest.approx(
        [math.nan if each is None else each for each in (low, high)], nan_ok=True
    )
    assert f'"low": {json.dumps(low)}' in json.dumps(of_history)
    assert sum(each is not None for each in (low, high)) == ends


@pytest.mark.parametrize("name", HOSTILE)
def test_no_report_prints_an_absurd_number(name, tmp_path):
    result = HOSTILE[name][0]()
    reports = [
        printed(full_report(result, Target.SPEED)),
        to_markdown([result], 1.0),
        to_csv([result]),
        to_junit([result]),
        to_json([result], CPU, environment(), {}),
    ]
    for text in reports:
        assert "12621475651015" not in text
        assert not re.search(r"\[\?|\binf\b|\bnan\b", text)


def test_a_stored_result_is_compared_by_the_same_interval(tmp_path):
    result = with_blocks()
    (entry,) = history_of(result, tmp_path)
    assert row_from_entry(entry).ratio == result.measurement.ratio


def test_a_missing_interval_is_said_alike_in_terminal_page_and_markdown():
    few = correct()
    endless = Interval(12_340.0, -math.inf, math.inf)
    result = replace(few, measurement=replace(few.measurement, candidate_ns=endless))
    page = to_html(page_of_results([result], CPU, environment(), 1.0))
    table = printed(suite_report([result, correct("relu")], Console(width=400), 1.0))
    full = printed(full_report(result, Target.SPEED))
    assert "{" not in table
    for text in (table, full, to_markdown([result], 1.0)):
        assert numbers.time(endless) in text
    assert numbers.UNCARRIED in page
