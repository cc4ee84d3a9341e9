"""The flow over many kernels: what is kept when something goes wrong in the middle."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from example_results import correct, failed, incorrect

from metalbench.errors import MachineError, StoreError
from metalbench.run import runner
from metalbench.run.trial import Silent
from metalbench.store.environment import environment
from metalbench.store.result import Result
from metalbench.store.store import Store

DEVICE = SimpleNamespace(kind="cpu", name="Example CPU", chip=None, cores=2, capabilities={})


def trial(task: str, size: str | None = None) -> Any:
    kernel = SimpleNamespace(is_python=False)
    entry = SimpleNamespace(name=task)
    return SimpleNamespace(entry=entry, kernel=kernel, dtype="float32", size=size)


TRIALS = [trial("relu"), trial("gelu"), trial("softmax")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results.db") as opened:
        yield opened


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Script the results of trials; exceptions are raised."""

    def install(*outcomes: Result | BaseException) -> None:
        remaining = iter(outcomes)

        def attempt(*_: object, **__: object) -> Result:
            outcome = next(remaining)
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr("metalbench.run.attempt.attempt", attempt)
        monkeypatch.setattr("metalbench.run.runner.precompile", lambda *_, **__: None)

    return install


def run(store: Store, **options: Any) -> runner.Outcome:
    return runner.run(
        DEVICE, TRIALS, store, environment(), Silent(), recorded_options={}, **options
    )


def statuses(store: Store) -> list[str]:
    return [entry.status for trial in TRIALS for entry in store.history(trial.entry.name)]


def outcome_in(store: Store) -> str | None:
    return store._connection.execute("SELECT outcome FROM runs").fetchone()[0]


def test_failures_are_results_and_the_run_continues(store: Store, script: Any) -> None:
    script(incorrect("relu"), failed("gelu"), correct("softmax"))
    outcome = run(store)
    assert statuses(store) == ["incorrect", "failed", "correct"]
    assert (outcome.ended, outcome.correct, outcome_in(store)) == ("finished", False, "finished")


def test_all_correct(store: Store, script: Any) -> None:
    script(correct("relu"), correct("gelu"), correct("softmax"))
    assert run(store).correct


def test_ctrl_c_stores_finished_results(store: Store, script: Any) -> None:
    script(correct("relu"), KeyboardInterrupt())
    outcome = run(store)
    assert [result.case.task for result in outcome.results] == ["relu"]
    assert statuses(store) == ["correct"]
    assert (outcome.ended, outcome.correct, outcome_in(store)) == (
        "interrupted",
        False,
        "interrupted",
    )


def test_fail_fast_ends_after_the_first_failure(store: Store, script: Any) -> None:
    script(correct("relu"), incorrect("gelu"))
    outcome = run(store, fail_fast=True)
    assert (outcome.ended, len(outcome.results)) == ("stopped", 2)


def test_a_store_error_ends_the_run_and_keeps_earlier_results(
    store: Store, script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(correct("relu"), correct("gelu"), correct("softmax"))
    record = store.record

    def full(number: int, result: Result) -> int:
        if result.case.task == "gelu":
            raise StoreError("[store] results.db: database or disk is full")
        return record(number, result)

    monkeypatch.setattr(store, "record", full)
    with pytest.raises(StoreError, match="full"):
        run(store)
    assert statuses(store) == ["correct"]


def test_the_observer_sees_every_kernel_in_order(store: Store, script: Any) -> None:
    script(correct("relu"), correct("gelu"), correct("softmax"))
    seen: list[tuple[int, int, str]] = []

    class Watching(Silent):
        def kernel_started(self, index: int, total: int, task: str, dtype: str) -> None:
            seen.append((index, total, task))

    runner.run(DEVICE, TRIALS, store, environment(), Watching(), recorded_options={})
    assert seen == [(0, 3, "relu"), (1, 3, "gelu"), (2, 3, "softmax")]
    # Of a kernel with several sizes the size is shown.
    script(correct("relu"), correct("relu"), correct("gelu"))
    sizes = [trial("relu", "seed"), trial("relu", "n=7"), trial("gelu", "seed")]
    runner.run(DEVICE, sizes, store, environment(), Watching(), recorded_options={})
    assert seen[3:] == [(0, 3, "relu seed"), (1, 3, "relu n=7"), (2, 3, "gelu")]


def test_an_unexpected_error_of_one_kernel_is_its_result(
    store: Store, script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "describe_case", lambda trial, *_: correct(trial.entry.name).case)
    script(correct("relu"), UnicodeError("odd name"), correct("softmax"))
    outcome = run(store)
    assert statuses(store) == ["correct", "failed", "correct"]
    (failure,) = outcome.results[1].failures
    assert (failure.stage, failure.kind) == ("compile", "UnicodeError")
    assert "odd name" in failure.message


def test_an_error_of_the_machine_ends_the_run(store: Store, script: Any) -> None:
    script(correct("relu"), MachineError("no memory"))
    with pytest.raises(MachineError, match="no memory"):
        run(store)


def test_a_result_that_cannot_be_stored_is_a_failure(
    store: Store, script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = correct("gelu")
    huge = replace(huge, case=replace(huge.case, source="x" * 100_000))
    script(correct("relu"), huge, correct("softmax"))
    record = store._record

    def limited(number: int, result: Result) -> int:
        if len(result.case.source) > 50_000:
            raise sqlite3.DataError("string or blob too big")
        return record(number, result)

    monkeypatch.setattr(store, "_record", limited)
    outcome = run(store)
    assert statuses(store) == ["correct", "failed", "correct"]
    (failure,) = outcome.results[1].failures
    assert (failure.stage, failure.kind) == ("record", "ResultTooLargeError")
    assert "string or blob too big" in failure.message
