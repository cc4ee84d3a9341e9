"""When the next worker is made ready: never before the last window of the present one."""

from __future__ import annotations

from typing import Any

import pytest

from metalbench.isolation import workers
from metalbench.isolation.workers import Workers
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
