"""A search among values of which one is fast, one is slow and one is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from example_results import CPU
from work_in_vain import Simulated, folder_with, kernel_with

from metalbench.compare.head_to_head import Match, MatchOutcome, MatchRunner, WrongKernelError
from metalbench.errors import DeclarationError
from metalbench.kernel.header import parse
from metalbench.kernel.library import Library
from metalbench.run.trial import Observer
from metalbench.store.result import DeviceFacts, Failure
from metalbench.tune.search import TuningCandidate, TuningResult, TuningSearch, tune

OFFERED = (400, 4, 7, 2000)


class Listener:
    def __init__(self) -> None:
        self.seen: list[tuple[int, int, TuningCandidate]] = []
        self.confirmed: list[TuningCandidate] = []

    def candidate(self, number: int, total: int, candidate: TuningCandidate) -> None:
        self.seen.append((number, total, candidate))

    def confirming(self, best: TuningCandidate) -> None:
        self.confirmed.append(best)


class Searching:
    """Searches values of WORK where those of `wrong` are."""

    def __init__(self, path: Path) -> None:
        self.players = Simulated(wrong=(7,))
        self._path = path

    def __call__(
        self,
        observer: Listener,
        *,
        source: str = kernel_with(*OFFERED),
        clock: Callable[[], float] = monotonic,
        players: MatchRunner | None = None,
        **options: Any,
    ) -> TuningResult:
        entry = Library([folder_with(self._path / "kernels", kernel=source)]).entry("twice")
        search = TuningSearch(entry, entry.kernel(), self._path / "tuning.journal", **options)
        return tune(CPU, search, players or self.players, observer, clock=clock)


@pytest.fixture
def searched(tmp_path: Path) -> Searching:
    return Searching(tmp_path)


def test_the_fastest_right_value_wins(searched: Searching) -> None:
    heard = Listener()
    found = searched(heard)
    assert found.tuning.values == {"WORK": 4}
    assert found.confirmation is not None
    assert found.confirmation.low > 1.2
    assert found.complete
    assert [each.values for each in found.faults] == [{"WORK": 7}]
    assert found.faults[0].fault == "it is wrong"
    assert (found.tuning.task, found.tuning.size) == ("twice", "seed")
    assert found.tuning.source_hash == parse(kernel_with(*OFFERED), name="twice").hash
    assert found.tuning.candidates == 4
    assert [number for number, _, _ in heard.seen] == [1, 2, 3, 4]
    assert heard.seen[0][2] == TuningCandidate({"WORK": 400}, 1.0)
    assert [each.values for each in heard.confirmed] == [{"WORK": 4}]


def test_candidates_are_verified_and_the_winner_on_other_inputs(searched: Searching) -> None:
    searched(Listener(), seed=5)
    first, *tried, last = searched.players.played
    assert first.tunables == ({}, {})
    assert {each.tunables[1]["WORK"] for each in tried} == {4, 7, 2000}
    assert all("odd1" in each.also_sizes for each in (first, *tried, last))
    assert {each.plan.seed for each in (first, *tried)} == {5}
    assert (last.tunables[1], last.plan.seed) == ({"WORK": 4}, 6)


def test_best_defaults_are_kept(searched: Searching) -> None:
    heard = Listener()
    found = searched(heard, source=kernel_with(4, 4000))
    assert found.tuning.values == {"WORK": 4}
    assert found.confirmation is None
    assert found.tuning.ratio is None
    assert not heard.confirmed


def test_search_ends_in_time_and_resumes(searched: Searching) -> None:
    ticks: Iterator[int] = count()
    found = searched(Listener(), seconds=2.5, clock=lambda: float(next(ticks)))
    assert not found.complete
    assert found.tuning.candidates == 3
    heard = Listener()
    found = searched(heard)
    assert found.complete
    assert [number for number, _, _ in heard.seen] == [1, 2, 3, 4]


def test_another_text_is_another_search(searched: Searching) -> None:
    searched(Listener())
    heard = Listener()
    searched(heard, source=f"{kernel_with(*OFFERED)}// more\n", seconds=0.0)
    assert len(heard.seen) == 1


def test_defaults_must_be_right(searched: Searching) -> None:
    with pytest.raises(WrongKernelError, match=r"twice with its defaults is not correct"):
        searched(Listener(), source=kernel_with(7, 4))


class Ending(Simulated):
    """One value kills the process; the defaults may turn out to be wrong next to another."""

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> MatchOutcome:
        values = match.tunables[1]
        if values.get("WORK") == 4:
            return MatchOutcome(device, Failure("verify", "CRASH", "it was ended by SIGSEGV"))
        if values.get("WORK") == 5:
            failure = Failure("verify after timing", "WRONG_RESULT", "once in a while")
            return MatchOutcome(device, failure, wrong=match.names[0])
        return super().play(device, match, observer)


def test_a_dying_process_is_a_fault_of_the_candidate(searched: Searching) -> None:
    found = searched(Listener(), source=kernel_with(400, 4, 100), players=Ending())
    assert [(each.values, each.fault) for each in found.faults] == [
        ({"WORK": 4}, "it was ended by SIGSEGV")
    ]
    assert found.tuning.values == {"WORK": 100}


def test_wrong_defaults_end_the_search(searched: Searching) -> None:
    with pytest.raises(WrongKernelError, match=r"its defaults is not correct.*once in a while"):
        searched(Listener(), source=kernel_with(400, 5), players=Ending())


def test_a_kernel_without_tunables_is_refused(searched: Searching) -> None:
    source = kernel_with(3).replace("// tune: WORK = 3\n", "").replace("WORK", "3")
    with pytest.raises(DeclarationError, match="has nothing to tune"):
        searched(Listener(), source=source)
