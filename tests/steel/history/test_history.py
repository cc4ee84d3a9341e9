"""The stored history of attempts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from example_results import measurement
from older_stores import downgrade

from agent_steel.attempt import Attempt, Status, Target
from agent_steel.history import History, Place
from agent_steel.history.lineage import Lineage, rounds_without
from agent_steel.proposal import Usage
from metalbench.errors import StoreError
from metalbench.stats import Interval
from metalbench.store.store import Store

PLACE = Place("cpu", "Example CPU", 2, "vectors", "softmax", "float32", "seed")
EMPTY = Attempt(0, 1, "softmax", "float32", "seed", None, 0, "kernel void f() {}\n", "k0")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.db"


def test_an_attempt_round_trips_with_its_samples(path: Path) -> None:
    whole = replace(
        EMPTY,
        round=3,
        tunables={"TG": 64},
        diagnosis="memory bounds it",
        wording="it waits",
        summary="Two sentences. Here.",
        technique="vector loads",
        proposer="openai",
        model="a model",
        usage=Usage(1200, 300, None, 2),
    )
    with Store(path) as store:
        history = History(store)
        session = history.begin({"loop": True, "kernel_names": ["softmax"]})
        parent = history.add(PLACE, replace(EMPTY, session=session, status=Status.BASELINE))
        added = history.add(PLACE, replace(whole, session=session, parent=parent.number))
        assert added.status is Status.PENDING
        assert history.attempt(added.number) == added
        done = replace(
            added,
            status=Status.KEPT,
            ratio=Interval(1.5, 1.4, 1.6),
            steadiness=Interval(2.0, 1.2, 3.5),
            rival=parent.number,
            measured_from=12.5,
            measured_to=13.25,
        )
        measured = measurement()
        done = history.record_judgement(done, [measured.samples, measurement(1).samples])
    with Store(path) as store:
        history = History(store)
        assert history.attempts(PLACE) == (parent, done)
        assert history.of_session(session) == history.of_task("softmax") == (parent, done)
        assert history.place(done.number) == PLACE
        samples = [history.samples(done.number, each)["kernel"] for each in (0, 1)]
        assert np.array_equal(samples[0], measured.samples.candidate_ns)
        assert not np.array_equal(*samples)
        found = history.broken_off()
        assert found is not None
        assert (found.number, found.options["loop"]) == (session, True)
        history.finish(session, "finished")
        assert history.broken_off() is None


@pytest.mark.parametrize(
    "other",
    [
        {"device_kind": "metal"},
        {"device_name": "Another"},
        {"device_cores": 4},
        {"engine": "fibers"},
        {"task": "relu"},
        {"dtype": "float16"},
        {"size": "large"},
    ],
)
def test_histories_of_different_places_are_separate(path: Path, other: dict[str, object]) -> None:
    with Store(path) as store:
        history = History(store)
        history.begin({})
        history.add(PLACE, EMPTY)
        assert history.attempts(replace(PLACE, **other)) == ()  # type: ignore[arg-type]


def test_an_attempt_of_no_session_is_refused(path: Path) -> None:
    with Store(path) as store, pytest.raises(StoreError, match="FOREIGN KEY"):
        History(store).add(PLACE, replace(EMPTY, session=7))


def test_a_store_of_the_version_before_gets_the_tables(path: Path) -> None:
    Store(path).close()
    downgrade(path, 5)
    with Store(path) as store:
        history = History(store)
        history.begin({})
        assert history.add(PLACE, EMPTY).number == 1


def test_attempts_of_an_older_store_are_read(path: Path) -> None:
    with Store(path) as store:
        history = History(store)
        history.begin({})
        before = history.add(PLACE, replace(EMPTY, ratio=Interval(1.5, 1.4, 1.6)))
    downgrade(path, 6)
    with Store(path) as store:
        history = History(store)
        assert history.attempts(PLACE) == (before,)
        steadier = history.record_judgement(replace(before, steadiness=Interval(2.0, 1.2, 3.5)))
        assert history.attempts(PLACE) == (steadier,)


def test_which_is_the_best_depends_on_the_target() -> None:
    start = replace(EMPTY, number=1, status=Status.BASELINE)
    kept = replace(EMPTY, parent=1, status=Status.KEPT)
    faster = replace(
        kept, number=2, ratio=Interval(1.5, 1.4, 1.6), steadiness=Interval(0.3, 0.2, 0.4)
    )
    steadier = replace(
        kept, number=3, ratio=Interval(1.001, 0.995, 1.005), steadiness=Interval(3.0, 2.0, 4.0)
    )
    best = {
        target: Lineage([start, faster, steadier], target).best(start).number for target in Target
    }
    assert best == {
        Target.SPEED: 2,
        Target.COMPUTE: 2,
        Target.MEMORY: 2,
        Target.STABLE: 3,
        Target.BALANCED: 3,
    }
    lineage = Lineage([start, faster, steadier])
    assert lineage.steadiness(steadier) == 3.0
    assert lineage.gain(faster) == 1.5


def attempts() -> Lineage:
    """A tree: 1 -> 2 -> 3, and 4 made from 1 but measured against 3."""

    def one(
        number: int, parent: int | None, fate: Status, ratio: float | None, **parts: object
    ) -> Attempt:
        known = None if ratio is None else Interval(ratio, ratio - 0.1, ratio + 0.1)
        made = replace(EMPTY, number=number, parent=parent, status=fate, ratio=known)
        return replace(made, source_key=f"k{number}", **parts)  # type: ignore[arg-type]

    return Lineage(
        [
            one(1, None, Status.BASELINE, None),
            one(2, 1, Status.KEPT, 2.0, technique="vectors", round=1),
            one(3, 2, Status.KEPT, 1.5, technique="unrolling", round=2),
            one(4, 1, Status.KEPT, 1.1, technique="vectors", round=2, rival=3),
            one(5, 4, Status.REVERTED, 0.9, technique="tiling", round=3),
            one(6, 4, Status.WRONG, None, technique="half", round=4, error="y is wrong\nthere"),
            one(7, 4, Status.REPEATED, None, technique="half", round=5),
            one(8, 4, Status.PENDING, None, technique="asynchronous", round=5),
        ]
    )


def test_gain_is_the_product_of_measured_gains() -> None:
    lineage = attempts()
    found = lineage.attempts
    assert [lineage.gain(found[i]) for i in (1, 2, 3, 4)] == pytest.approx([1, 2, 3, 3.3])
    assert lineage.best(found[1]) is found[4]
    assert lineage.top(found[1], 2) == [found[4], found[3]]
    assert lineage.root(found[6]) is found[1]
    assert lineage.start("k3") is found[3]
    assert lineage.start("k5") is None
    assert lineage.children(found[1]) == [found[2], found[4]]


def test_failures_lists_techniques_with_the_reason() -> None:
    lineage = attempts()
    tried = {each.name: (len(each.attempts), each.kept) for each in lineage.techniques()}
    assert tried == {"vectors": (2, 2), "unrolling": (1, 1), "tiling": (1, 0), "half": (1, 0)}
    failed = {each.name: reason for each, reason in lineage.failures()}
    assert failed == {"tiling": "0.9 times as fast as the best then", "half": "y is wrong"}


def test_rounds_since_the_last_kept_attempt_are_counted() -> None:
    found = list(attempts().attempts.values())
    assert rounds_without(found) == 3
    assert rounds_without(found[:4]) == 0
    assert rounds_without(found[:1]) == 0
