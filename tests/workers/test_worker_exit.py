"""A kernel's process may die in any way: that is its result, and the run goes on."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from metalbench.errors import MachineError, OutOfMemoryError
from metalbench.kernel.library import Library
from metalbench.run.trial import Trial
from metalbench.sandbox.exit_status import WorkerError, WorkerExited, make_exit_error
from metalbench.sandbox.resources import Limits
from metalbench.sandbox.system_calls import load_system_calls
from metalbench.store.result import Status
from metalbench.verify import Kind
from metalbench.workers import pool
from metalbench.workers.pool import find_network_isolation

MIB = 2**20


DEATHS = {
    "touches_null": (Kind.CRASH, "SIGSEGV", "memory outside its mappings", "in misbehave"),
    "overflows_its_stack": (Kind.CRASH, "its stack overflowed"),
    "aborts": (Kind.CRASH, "SIGABRT", "Fatal Python error: Aborted"),
    "exits": (Kind.CRASH, "exit code 3 and no result", "too late"),
    "is_killed": (Kind.OUT_OF_MEMORY, "SIGKILL", "when memory runs out"),
}


def test_a_process_that_dies_is_a_finding_and_the_run_continues(runs: Any) -> None:
    *dead, after = runs(*DEATHS, "good")
    for result, (kind, *words) in zip(dead, DEATHS.values(), strict=True):
        (failure,) = result.failures
        assert (result.status, failure.kind, failure.stage) == (Status.FAILED, kind, "verify")
        for part in words:
            assert part in failure.message
        assert result.case.sizes == {"n": 100}
        assert [each.status for each in runs.store.history(result.case.task)] == ["failed"]
    assert after.status is Status.CORRECT


@pytest.mark.parametrize(
    "words",
    [
        "RuntimeError: can't start new thread",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 MiB",
        "terminate called after throwing an instance of 'std::bad_alloc'",
    ],
)
def test_a_process_without_memory_is_not_a_kernel_failure(words: str) -> None:
    for code in (1, -6):
        error = make_exit_error(code, f"Traceback\n{words}")
        assert isinstance(error, OutOfMemoryError)
        assert words in str(error)
        assert "ulimit -v" in str(error)
    assert isinstance(make_exit_error(1, "RuntimeError: something else"), WorkerExited)


def test_a_hanging_process_is_ended(runs: Any) -> None:
    (dead,) = runs("hangs", limits=Limits(seconds=3))
    (failure,) = dead.failures
    assert failure.kind == Kind.TIME_LIMIT
    assert "at most 3 s" in failure.message
    assert "--kernel-timeout" in failure.message


@pytest.mark.parametrize("name", ["hoards", "hoards_in_a_child"])
def test_a_process_beyond_its_memory_limit_is_ended(runs: Any, name: str) -> None:
    (dead,) = runs(name, limits=Limits(memory_bytes=700 * MIB))
    (failure,) = dead.failures
    assert failure.kind == Kind.OUT_OF_MEMORY
    assert "at most 700 MiB" in failure.message
    assert "--memory-limit" in failure.message


def test_an_error_of_task_code_is_the_same_as_without_a_process(runs: Any) -> None:
    (wrong,) = runs("raises")
    assert "no such luck" in wrong.failures[0].message


def test_output_of_a_task_is_passed_on(
    runs: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    (result,) = runs("prints")
    assert result.status is Status.CORRECT
    assert "so far so good" in capsys.readouterr().err


def test_damage_to_a_kernels_process_stays_in_that_process(runs: Any) -> None:
    statuses = [result.status for result in runs("leaves_a_mark", "finds_no_mark")]
    assert statuses[1] is Status.CORRECT


def test_a_worker_returns_samples_and_analysis(runs: Any) -> None:
    (result,) = runs("good")
    assert result.measurement is not None
    assert result.measurement.pairs == result.measurement.samples.candidate_ns.size
    assert result.analysis is not None
    (kept,) = runs.store.history("good")
    assert runs.store.samples(kept.id)["kernel"].size == result.measurement.pairs


def test_a_worker_that_cannot_start_is_not_a_kernel_failure(
    runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from metalbench.sandbox import process

    monkeypatch.setattr(process.sys, "path", ["/nowhere"])
    with pytest.raises(WorkerError, match="ended as it started") as caught:
        runs("good")
    assert "--in-process" in str(caught.value)


def test_a_device_that_cannot_start_is_reported_in_its_words(
    runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "WORKER", "without_device")
    for attempt in (lambda: runs("good"), lambda: find_network_isolation("cpu")):
        with pytest.raises(MachineError, match=r"^cpu: cannot make a context$"):
            attempt()


def test_a_device_that_cannot_start_is_reported_for_a_prepared_worker_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "WORKER", "without_device")
    entry = Library([folder]).entry("good")
    trial = Trial(entry, entry.kernel(), "float32")
    worker = pool.WorkerHandle("cpu", trial)
    try:
        worker.wait_until_ready()
        worker.begin(trial)
        assert worker.receive(Limits()) == ("machine", "cpu: cannot make a context")
    finally:
        worker.process.end()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux filters system calls")
def test_a_refused_system_call_is_named() -> None:
    number = load_system_calls().numbers["execve"]
    words = f"its own words\n\n[confinement] refused system call {number}\n"
    ended = make_exit_error(-signal.SIGSYS, words)
    assert isinstance(ended, WorkerExited)
    assert ended.kind is Kind.CRASH
    assert "SIGSYS: it made a forbidden system call (it tried execve)" in ended.message
    assert "(it tried" not in str(make_exit_error(-signal.SIGSYS, "nothing of the kind"))
