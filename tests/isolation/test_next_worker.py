"""When the next worker is made ready: never before the last window of the present one."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from metalbench.isolation import worker, workers
from metalbench.isolation.workers import Workers
from metalbench.run import ahead
from metalbench.run.stages import Silent, Stage

# A GPU's kernel is checked first.
ORDERS = {
    "cpu": [Stage.VERIFY, Stage.MEASURE, Stage.RECHECK, Stage.CHECK],
    "metal": [Stage.CHECK, Stage.VERIFY, Stage.MEASURE, Stage.RECHECK],
}


class Scripted:
    """A worker that tells of stages and then has its result."""

    def __init__(self, stages: list[Stage]) -> None:
        self._messages = [*(("stage", stage) for stage in stages), ("result", "its result")]

    def begin(self, trial: Any) -> None:
        pass

    def answer(self) -> None:
        pass

    def settle(self) -> None:
        pass

    def receive(self, limits: Any) -> tuple[str, Any]:
        return self._messages.pop(0)


class Watching(Silent):
    def __init__(self) -> None:
        self.stage: Stage | None = None

    def stage_started(self, stage: Stage) -> None:
        self.stage = stage


def ready_after(monkeypatch: pytest.MonkeyPatch, kind: str, stages: list[Stage]) -> list[Any]:
    """The stages of the present kernel whose beginning was the last to be told."""
    observer, made = Watching(), []

    def make(device: str, trial: Any) -> Scripted:
        made.append(observer.stage)
        return Scripted([])

    monkeypatch.setattr(workers, "_Worker", make)
    one = object.__new__(Workers)
    one._device, one._next = kind, None
    one._watch(Scripted(stages), "present", ["next"], observer, None, kind=kind)
    return made


@pytest.mark.parametrize("kind", ORDERS)
def test_it_is_made_ready_when_nothing_is_timed_any_more(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    assert ready_after(monkeypatch, kind, ORDERS[kind]) == [Stage.MEASURE]


def test_it_is_made_ready_beside_the_explanation_of_wrong_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ready_after(monkeypatch, "cpu", [Stage.VERIFY, Stage.CHECK]) == [Stage.VERIFY]


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


def test_both_builds_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    meet, made = threading.Barrier(2), []

    def build(device: Any, trial: Any, *, checked: bool) -> None:
        meet.wait(20)  # one after the other they never meet
        made.append(checked)

    monkeypatch.setattr(ahead, "precompile", build)
    monkeypatch.setattr(ahead, "prepare_reference", lambda *_: made.append("reference"))
    channel = Asked()
    # This process goes on, and is to run kernels in itself.
    monkeypatch.setattr(worker, "Executors", lambda _: SimpleNamespace(start=None))
    with pytest.raises(EOFError):
        worker._serve(channel, "cpu", "")
    assert sorted(made, key=str) == [False, True, "reference"]
    assert channel.sent == ["open", "ready"]
