"""Stored data in addition to the times: their uncertainty, and the parts of a run."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from example_results import CPU, correct, incorrect

from metalbench.measure.measurement import FormTime, Steadiness, TimingMode
from metalbench.stats import Cause, Interval, Reason, Verdict
from metalbench.store.environment import environment
from metalbench.store.store import WITHOUT_KERNELS, Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.db"


def test_the_uncertainty_of_a_verdict_is_stored(path: Path) -> None:
    result = correct()
    measured = result.measurement
    assert measured is not None
    assert measured.judgement is not None
    reason = Reason(Cause.WIDE, "the interval is wide", "measure longer")
    unsure = replace(measured.judgement, verdict=Verdict.INCONCLUSIVE, reasons=(reason,))
    measured = replace(
        measured,
        verdict=Verdict.INCONCLUSIVE,
        judgement=unsure,
        mode=TimingMode.COLD,
        steadiness=Steadiness(discarded=7, retries=2, spread=0.01),
        forms=(
            FormTime("mx.fast.softmax", Interval(10.0, 9.0, 11.0), compared=True),
            FormTime("mx.compile", None, fault="wrong shape"),
        ),
    )
    with Store(path) as store:
        store.record(store.begin_run({}, CPU, environment()), replace(result, measurement=measured))
        (entry,) = store.history("softmax")
    assert (entry.mode, entry.p_value, entry.verdict) == ("cold", unsure.p_value, "INCONCLUSIVE")
    with sqlite3.connect(path) as raw:
        row = raw.execute("SELECT reasons, forms, discarded, retries FROM results").fetchone()
    raw.close()
    assert json.loads(row[0]) == [
        {"cause": reason.cause, "seen": reason.seen, "remedy": reason.remedy}
    ]
    first, second = json.loads(row[1])
    assert (first["name"], first["low"], first["compared"]) == ("mx.fast.softmax", 9.0, True)
    assert (second["value"], second["fault"]) == (None, "wrong shape")
    assert row[2:] == (7, 2)


def test_runs_and_their_results_are_found_again(path: Path) -> None:
    here = environment()
    with Store(path) as store:
        first, second = (store.begin_run({}, CPU, here) for _ in range(2))
        for run in (first, second):
            store.record(run, correct())
            store.record(run, incorrect("relu"))
        store.begin_run({}, CPU, here)
        assert store.runs() == [second, first]
        entries = store.results(first)
        assert store.results(99) == []
        # A run that ended without results is not among the latest. A run without kernels is.
        store.finish_run(store.begin_run({}, CPU, here), "interrupted")
        empty = store.begin_run({WITHOUT_KERNELS: True}, CPU, here)
        store.finish_run(empty, "finished")
        assert store.runs() == [empty, second, first]
    assert [(entry.task, entry.status) for entry in entries] == [
        ("softmax", "correct"),
        ("relu", "incorrect"),
    ]
    entry = entries[0]
    assert (entry.run, entry.mode, entry.sizes) == (first, "warm", {"rows": 1024, "cols": 1024})
    assert (entry.revision, entry.mlx) == (here.revision, here.versions.get("mlx"))
    assert entry.tunables == {"TG": 128}
