"""The next workers are prepared, but not while the present one times a kernel."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.connection import Pipe
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import pytest

from metalbench.run import runner
from metalbench.run.trial import Silent, Stage
from metalbench.sandbox.exit_status import WorkerExited
from metalbench.sandbox.process import Process
from metalbench.sandbox.resources import Limits
from metalbench.workers import pool, worker
from metalbench.workers.channel import Channel
from metalbench.workers.pool import WorkerPool, Workers

# A GPU's kernel is checked first.
ORDERS = {
    "cpu": [Stage.VERIFY, Stage.MEASURE, Stage.RECHECK, Stage.CHECK],
    "metal": [Stage.CHECK, Stage.VERIFY, Stage.MEASURE, Stage.RECHECK],
}


Line = list[tuple[Any, str, Any]]
Note = Callable[[str, Any], None]


def nothing(what: str, trial: Any) -> None:
    """A worker whose calls are not recorded."""


class Scripted:
    """A worker that tells of stages and then has its result; what is done to it goes to `note`."""

    def __init__(
        self, stages: Sequence[Stage] = (), trial: Any = None, note: Note = nothing
    ) -> None:
        self._note = note
        self._messages = [*(("stage", stage) for stage in stages), ("result", "its result")]
        self.prepared_for = trial
        self.process = SimpleNamespace(
            **{name: partial(note, name, trial) for name in ("pause", "resume", "end")}
        )
        self.wait_until_ready = partial(note, "settle", trial)

    def begin(self, trial: Any) -> None:
        pass

    def let_continue(self) -> None:
        pass

    def receive(self, limits: Any, ahead: Any = None) -> tuple[str, Any]:
        self._note("receive", ahead and ahead.prepared_for)
        return self._messages.pop(0)


class Named(str):
    """A trial of which only the name and the size count."""

    size: str | None = None


class Watching(Silent):
    """Record the calls of each worker, with the stage that was last reported."""

    def __init__(self) -> None:
        self.stage: Stage | None = None
        self.done: Line = []

    def stage_started(self, stage: Stage) -> None:
        self.stage = stage

    def note(self, what: str, trial: Any) -> None:
        self.done.append((self.stage, what, trial))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Watching:
    seen = Watching()

    def make(device: str, trial: Any = None) -> Scripted:
        seen.note("make", trial)
        return Scripted((), trial, seen.note)

    monkeypatch.setattr(pool, "WorkerHandle", make)
    monkeypatch.setattr(pool.sys, "platform", "linux")
    return seen


def watched(
    seen: Watching, kind: str, stages: list[Stage], ahead: WorkerPool | None = None
) -> Line:
    """Take one kernel through `stages`, with three to come; what was done to their workers."""
    one = object.__new__(Workers)
    one._ahead = ahead or empty(kind)
    seen.done.clear()
    following = [Named(each) for each in ("next", "second", "third")]
    one._watch(Scripted(stages, note=seen.note), "present", following, seen, None, kind=kind)
    return [each for each in seen.done if each[1] != "receive"]


def empty(kind: str) -> WorkerPool:
    ahead = WorkerPool(kind)
    ahead.take("present")
    return ahead


def made(done: Line) -> list[tuple[Stage | None, Any]]:
    return [(stage, trial) for stage, what, trial in done if what == "make"]


def test_two_workers_are_prepared_after_timing(seen: Watching) -> None:
    done = watched(seen, "cpu", ORDERS["cpu"])
    assert made(done) == [(Stage.MEASURE, "next"), (Stage.MEASURE, "second")]


@pytest.mark.parametrize(("kind", "system"), [("metal", "linux"), ("cpu", "darwin")])
def test_one_worker_is_prepared_if_it_cannot_be_paused(
    seen: Watching, monkeypatch: pytest.MonkeyPatch, kind: str, system: str
) -> None:
    monkeypatch.setattr(pool.sys, "platform", system)
    assert made(watched(seen, kind, ORDERS[kind])) == [(Stage.MEASURE, "next")]


def test_workers_are_prepared_during_the_explanation_of_wrong_results(seen: Watching) -> None:
    done = watched(seen, "cpu", [Stage.VERIFY, Stage.CHECK])
    assert made(done) == [(Stage.VERIFY, "next"), (Stage.VERIFY, "second")]


def test_prepared_workers_pause_during_timing(seen: Watching) -> None:
    ahead = empty("cpu")
    ahead.prepare(["next"], "cpu")
    done = watched(seen, "cpu", [Stage.VERIFY, Stage.MEASURE, Stage.RECHECK], ahead)
    assert done == [
        (None, "resume", "next"),
        (Stage.VERIFY, "pause", "next"),
        (Stage.MEASURE, "resume", "next"),
        (Stage.MEASURE, "make", "second"),
    ]


def test_timing_on_a_gpu_waits_for_prepared_workers(seen: Watching) -> None:
    ahead = empty("metal")
    ahead.prepare(["next"], "metal")
    done = watched(seen, "metal", [Stage.VERIFY, Stage.MEASURE], ahead)
    assert (Stage.VERIFY, "settle", "next") in done
    assert "pause" not in {what for _, what, _ in done}


def test_the_next_worker_runs_ahead_during_the_last_checks(seen: Watching) -> None:
    ahead = empty("cpu")
    ahead.prepare(["next"], "cpu")
    order = [Stage.VERIFY, Stage.MEASURE, Stage.RECHECK, Stage.CHECK, Stage.VERIFY_ALL]
    watched(seen, "cpu", order, ahead)
    allowed = [(stage, trial) for stage, what, trial in seen.done if what == "receive" and trial]
    assert allowed == [(Stage.CHECK, "next"), (Stage.VERIFY_ALL, "next")]


@pytest.mark.parametrize(
    ("kind", "stages", "size"),
    [
        # Its kernel would use the GPU.
        ("metal", [*ORDERS["metal"], Stage.VERIFY_ALL], None),
        # Its size has not been compared with the memory of the machine.
        ("cpu", [*ORDERS["cpu"], Stage.VERIFY_ALL], "huge"),
        # The checks only explain wrong results; the kernel has not been timed.
        ("cpu", [Stage.VERIFY, Stage.CHECK], None),
    ],
)
def test_the_next_worker_does_not_run_ahead(
    seen: Watching, monkeypatch: pytest.MonkeyPatch, kind: str, stages: list[Stage], size: str
) -> None:
    monkeypatch.setattr(Named, "size", size)
    ahead = empty(kind)
    ahead.prepare(["next"], kind)
    watched(seen, kind, stages, ahead)
    assert not [trial for _, what, trial in seen.done if what == "receive" and trial]


class Ahead:
    """A worker handle, and the other end of its channel in the hands of the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ours, theirs = Pipe()
        self.theirs = Channel.for_worker(theirs)
        process = SimpleNamespace(
            channel=Channel.for_run(ours),
            number=0,
            wait_for_exit=lambda: 3,
            read_output_tail=lambda: "",
        )
        monkeypatch.setattr(pool, "Process", lambda *_, **__: process)
        monkeypatch.setattr(pool, "read_resident_bytes", lambda *_, **__: 0)
        self.handle = pool.WorkerHandle("cpu")
        # The trial cannot be sent: it is a name only.
        self.handle.prepared_for = self.handle._job = Named("next")
        self.limits = Limits(seconds=60.0)

    def run(self) -> None:
        self.handle.run_ahead(self.limits)

    def answers(self) -> list[str]:
        found = []
        while self.theirs.wait_for_message(0.0):
            found.append(self.theirs.receive()[0])
        return found


def test_a_worker_runs_ahead_up_to_its_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = Ahead(monkeypatch)
    ahead.run()
    assert ahead.answers() == []  # it prepares
    ahead.theirs.send("open", "")
    ahead.theirs.send("ready")
    ahead.run()
    assert ahead.answers() == ["begin"]
    ahead.theirs.send("stage", Stage.VERIFY)
    ahead.theirs.send("detail", "small, seed 1")
    ahead.theirs.send("stage", Stage.MEASURE)
    ahead.run()
    ahead.run()
    assert ahead.answers() == ["go on"]
    # Its turn: the messages come again, and only the last one is still to be answered.
    ahead.handle.begin("next")  # type: ignore[arg-type]
    for message, answers in (
        (("stage", Stage.VERIFY), []),
        (("detail", "small, seed 1"), []),
        (("stage", Stage.MEASURE), ["go on"]),
    ):
        assert ahead.handle.receive(ahead.limits) == message
        if message[0] == "stage":
            ahead.handle.let_continue()
        assert ahead.answers() == answers
    ahead.theirs.send("progress", 0.5)
    assert ahead.handle.receive(ahead.limits) == ("progress", 0.5)
    ahead.handle.let_continue()
    assert ahead.answers() == ["go on"]


def test_the_end_of_a_worker_that_runs_ahead_counts_at_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ahead = Ahead(monkeypatch)
    ahead.theirs.send("open", "")
    ahead.theirs.send("ready")
    ahead.run()
    ahead.theirs.send("stage", Stage.VERIFY)
    ahead.theirs.close()
    ahead.run()
    ahead.run()
    assert ahead.handle.receive(ahead.limits) == ("stage", Stage.VERIFY)
    with pytest.raises(WorkerExited, match="ended with exit code 3"):
        ahead.handle.receive(ahead.limits)


def test_the_time_until_its_turn_is_not_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(pool, "monotonic", lambda: now[0])
    ahead = Ahead(monkeypatch)
    ahead.theirs.send("ready")
    ahead.run()
    ahead.theirs.send("stage", Stage.MEASURE)
    now[0] = 10.0
    ahead.run()
    now[0] = 100.0
    assert ahead.handle.receive(ahead.limits) == ("stage", Stage.MEASURE)
    ahead.handle.let_continue()
    ahead.theirs.send("progress", 0.5)
    assert ahead.handle.receive(ahead.limits) == ("progress", 0.5)
    now[0] = 151.0
    with pytest.raises(WorkerExited, match="60 s"):
        ahead.handle.receive(ahead.limits)


def test_a_prepared_worker_does_only_its_own_work(seen: Watching) -> None:
    ahead = empty("cpu")
    ahead.prepare(["untried", "next"], "cpu")
    assert ahead.take("next").prepared_for == "next"
    assert (None, "end", "untried") in seen.done
    assert ahead.take("unforeseen").prepared_for is None


def test_processes_that_a_worker_started_pause_with_it(tmp_path: Path) -> None:
    count = tmp_path / "count"
    counting = f"while :; do echo >> {count}; done"
    process = object.__new__(Process)
    process._leads_session = True
    process._child = subprocess.Popen(["sh", "-c", f"({counting}) & wait"], start_new_session=True)

    def grows() -> bool:
        before = count.stat().st_size if count.exists() else 0
        sleep(0.2)
        return count.exists() and count.stat().st_size > before

    try:
        until(grows)
        process.pause()
        until(lambda: not grows())
        process.resume()
        until(grows)
        process.pause()
    finally:
        process._kill()
    assert not grows()


def until(condition: Callable[[], bool]) -> None:
    end = monotonic() + 20
    while not condition():
        assert monotonic() < end


class Asked:
    """A channel over which a preparation is asked for, and nothing more."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, name: str, value: Any = None) -> None:
        self.sent.append(name)

    def receive(self) -> tuple[str, Any]:
        if "ready" in self.sent:
            raise EOFError
        return "prepare", "trial"


def test_both_builds_are_prepared_concurrently(monkeypatch: pytest.MonkeyPatch) -> None:
    meet, made = threading.Barrier(2), []

    def build(device: Any, trial: Any, *, checked: bool) -> None:
        meet.wait(20)  # one after the other they never meet
        made.append(checked)

    monkeypatch.setattr(runner, "precompile", build)
    monkeypatch.setattr(runner, "needs_checked_build", lambda *_: True)
    monkeypatch.setattr(runner, "prepare_reference", lambda *_: made.append("reference"))
    channel = Asked()
    # This process goes on, and is to run kernels in itself.
    monkeypatch.setattr(
        worker, "Executors", lambda _: SimpleNamespace(start=None, prepare=lambda: None)
    )
    with pytest.raises(EOFError):
        worker._serve(channel, "cpu", "")
    assert sorted(made, key=str) == [False, True, "reference"]
    assert channel.sent == ["open", "ready"]
