"""The population strategy: islands, selection, migration, restarts and crossover."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from steel_session import Scripted, Session, proposal
from work_in_vain import KERNEL

from agent_steel.attempt import Attempt, Status
from agent_steel.history.lineage import Lineage
from agent_steel.loop.population import Population, distance, is_same_idea
from agent_steel.loop.settings import SearchSubject, Settings
from agent_steel.proposal import Brief, Proposal, ProposerError
from metalbench.stats import Interval

POPULATION = Settings(strategy="population", islands=3, members=3, seed=5)


def attempt(number: int, ratio: float | None = None, **parts: Any) -> Attempt:
    """Return an attempt whose text differs from those of other numbers."""
    first = {"session": 1, "task": "twice", "dtype": "float32", "size": "seed", "parent": 1}
    return Attempt(
        **{
            **first,
            "number": number,
            "round": 1,
            "source": " ".join(f"word{number}_{place}" for place in range(60)),
            "source_key": str(number),
            "technique": f"idea {number}",
            "status": Status.REVERTED,
            "ratio": None if ratio is None else Interval(ratio, ratio, ratio),
            "island": 0,
            **parts,
        }
    )


START = attempt(1, status=Status.BASELINE, parent=None, round=0, island=None)


def population(*attempts: Attempt, **settings: Any) -> Population:
    return Population(Lineage([START, *attempts]), START, 1, replace(POPULATION, **settings))


def members(found: Population, before: int) -> list[list[int]]:
    return [[each.number for each in island.members] for island in found.islands(before)]


def test_islands_begin_with_the_founder() -> None:
    assert members(population(), 1) == [[1], [1], [1]]


def test_an_island_keeps_its_correct_versions_the_best_first() -> None:
    found = population(
        attempt(2, 0.8),
        attempt(3, 1.5, status=Status.KEPT),
        attempt(4, None, status=Status.WRONG),
        attempt(5, 2.0, island=1, status=Status.KEPT, session=9),
        attempt(6, 0.9, island=2),
    )
    assert members(found, 2) == [[3, 1, 2], [1], [1, 6]]
    # A later round does not count before it.
    assert members(found, 1) == [[1], [1], [1]]


def test_an_island_keeps_different_ideas() -> None:
    alike = attempt(3, 1.1, source=attempt(2).source + " more", technique="idea 2")
    others = [attempt(number, 0.5 + number / 100) for number in (4, 5, 6)]
    found = population(attempt(2, 1.2, status=Status.KEPT), alike, *others)
    assert members(found, 2)[0] == [2, 1, 6]
    assert is_same_idea(alike, attempt(2, 1.2))
    assert not is_same_idea(replace(alike, technique="other"), attempt(2, 1.2))


def test_the_best_versions_migrate_to_the_next_island() -> None:
    kept = attempt(2, 1.5, status=Status.KEPT, round=2)
    assert members(population(kept), 3) == [[2, 1], [1], [1]]
    assert members(population(kept), 4) == [[2, 1], [2, 1], [1]]
    assert members(population(kept, migration_rounds=1), 5)[2] == [2, 1]


def test_a_stagnating_island_restarts_but_not_the_leader() -> None:
    gained = attempt(2, 1.5, status=Status.KEPT, round=1)
    slow = attempt(3, 0.8, island=1, round=2)
    found = population(gained, slow, migration_rounds=99)
    assert members(found, 4) == [[2, 1], [1, 3], [1]]
    assert members(found, 5) == [[2, 1], [1], [1]]
    assert found.islands(9)[1].gained == 8


def test_the_rival_is_the_best_of_the_island_with_those_of_the_round() -> None:
    found = population(
        attempt(2, 1.5, status=Status.KEPT, round=1),
        attempt(3, 2.0, status=Status.KEPT, round=2),
        attempt(4, 3.0, round=2),
        attempt(5, 9.0, status=Status.KEPT, round=2, island=1),
    )
    assert found.rival(0, 2).number == 3
    assert found.rival(2, 2).number == 1


def test_selection_is_the_same_for_a_seed_and_tries_every_member() -> None:
    several = [attempt(number, 0.9) for number in (2, 3)]
    chosen = [
        [each.parent.number for each in population(*several, seed=seed).select(2)]
        for seed in range(40)
    ]
    assert chosen[3] == [each.parent.number for each in population(*several, seed=3).select(2)]
    assert {each[0] for each in chosen} == {1, 2, 3}
    assert {each[1] for each in chosen} == {1}


def test_a_member_with_many_children_gives_others_their_turn() -> None:
    slower = attempt(2, 0.8)
    tired = [attempt(number, status=Status.WRONG, parent=1) for number in range(3, 13)]

    def count(*more: Attempt) -> int:
        parents = [population(slower, *more, seed=seed).select(2)[0].parent for seed in range(60)]
        return sum(each.number == 2 for each in parents)

    assert count(*tired) > 2 * count()


def test_a_crossover_has_parents_of_two_islands_with_different_techniques() -> None:
    one = attempt(2, 1.5, status=Status.KEPT)
    other = attempt(3, 1.4, status=Status.KEPT, island=1)
    same = attempt(4, 1.4, status=Status.KEPT, island=2, technique=one.technique)
    crossed = 0
    for seed in range(60):
        for each in population(one, other, same, seed=seed).select(2):
            if each.other is not None:
                crossed += 1
                assert each.parent.technique != each.other.technique
                assert each.parent.island != each.other.island
    assert 20 < crossed < 90


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a b c d", "a b c d // a comment\n", 0.0),
        ("a b c d", "a b x d", 0.25),
        ("a b c d", "b c d", 0.25),
        ("b c d", "a b c d", 0.25),
        ("a b c d", "", 1.0),
        ("a", "b", 1.0),
    ],
)
def test_distance_counts_edits_of_tokens(one: str, other: str, expected: float) -> None:
    assert distance(one, other) == expected


def test_distance_agrees_with_the_definition() -> None:
    def defined(one: list[str], other: list[str]) -> int:
        rows = [list(range(len(other) + 1))]
        for x in one:
            row = [rows[-1][0] + 1]
            for place, y in enumerate(other):
                row.append(min(row[-1] + 1, rows[-1][place + 1] + 1, rows[-1][place] + (x != y)))
            rows.append(row)
        return rows[-1][-1]

    random = Random(1)
    for _ in range(50):
        one, other = (
            [random.choice("abcd") for _ in range(random.randint(1, 12))] for _ in range(2)
        )
        longest = max(len(one), len(other))
        assert distance(" ".join(one), " ".join(other)) == defined(one, other) / longest


# Whole searches.

GOOD = KERNEL.replace("WORK = 400, 0, 100", "WORK = 1")


def search(runner: Session, subject: SearchSubject, proposer: Scripted, **more: Any) -> Any:
    options = {"strategy": "population", "max_rounds": 40, "max_idle_rounds": 40, "seed": 3}
    return runner([subject], proposer, **{**options, **more})


def wrong(number: int) -> Proposal | ProposerError:
    """One of the answers that lead nowhere: wrong, broken, slower, unreadable or a repeat."""
    kinds: list[Callable[[], Proposal | ProposerError]] = [
        lambda: proposal(f"{KERNEL}// WRONG {number}\nint w{number};\n", f"wrong {number}"),
        lambda: proposal("no kernel at all", f"broken {number}"),
        lambda: proposal(KERNEL.replace("400, 0, 100", f"{900 + number}"), f"slower {number}"),
        lambda: ProposerError("the reply is not JSON"),
        lambda: proposal(KERNEL, "a repeat"),
    ]
    return kinds[number % len(kinds)]()


@pytest.mark.parametrize("place", [4, 9, 14])
def test_a_hidden_good_answer_is_found_and_kept(
    place: int, subject: SearchSubject, session: Session
) -> None:
    """Of one good answer among wrong ones the ideal number of requests is its place."""
    asked_when_kept = []

    def script(brief: Brief, number: int) -> Proposal | ProposerError:
        if any(each.status is Status.KEPT for each in brief.attempts):
            asked_when_kept.append(number)
        return proposal(GOOD, "good") if number == place - 1 else wrong(number)

    (found,) = search(session, subject, Scripted(script), max_rounds=place).searches
    assert found.best.technique == "good"
    assert found.best.status is Status.KEPT
    # The first request that knew of the kept version.
    assert min(asked_when_kept) <= 1.5 * place


def test_a_slower_version_is_a_step_to_a_faster_one(
    subject: SearchSubject, session: Session
) -> None:
    """A climb never starts from the step, because it is slower."""
    step = KERNEL.replace("400, 0, 100", "440").replace("float v", "/* step */ float v")

    def script(brief: Brief, number: int) -> Proposal | ProposerError:
        if "/* step */" in brief.kernel.source:
            return proposal(GOOD, "good")
        return proposal(step, "step") if number == 2 else wrong(number)

    greedy = replace(subject, size="small")
    (found,) = search(session, greedy, Scripted(script), strategy="greedy").searches
    assert not found.improved
    proposer = Scripted(script)
    (found,) = search(session, subject, proposer, max_rounds=8).searches
    assert found.best.technique == "good"
    kept = [each for each in session.heard.judged_attempts if each.technique == "good"]
    assert [each.status for each in kept[:1]] == [Status.KEPT]


def test_a_crossover_brief_asks_to_combine_two_versions(
    subject: SearchSubject, session: Session
) -> None:
    def script(brief: Brief, number: int) -> Proposal:
        work = {0: 200, 1: 210}.get(number, 500 + number)
        source = KERNEL.replace("400, 0, 100", f"{work}")
        return proposal(f"{source}constant int c{number} = {number};\n", f"idea {number}")

    proposer = Scripted(script)
    search(session, subject, proposer, max_rounds=8)
    crossed = [each for each in proposer.briefs if each.is_crossover]
    assert crossed
    for brief in crossed:
        (other,) = brief.others
        assert other.technique != brief.parent.technique
        (fact,) = [each for each in brief.diagnosis.facts if each.name == "crossover"]
        assert f"number {brief.parent.number}" in fact.value
        assert f"number {other.number}" in fact.value
    recorded = [each for each in session.history.attempts(subject.place) if each.crossed]
    assert {(each.parent, each.crossed) for each in recorded} <= {
        (each.parent.number, each.others[0].number) for each in crossed
    }
    assert {each.island for each in session.history.attempts(subject.place)[1:]} == {0, 1, 2}


def test_an_interrupted_population_goes_on_from_its_history(
    subject: SearchSubject, session: Session, tmp_path: Path
) -> None:
    def script(brief: Brief, number: int) -> Proposal:
        work = 400 - 10 * len(brief.attempts)
        source = KERNEL.replace("400, 0, 100", f"{work}")
        return proposal(f"{source}// {brief.round} {brief.island}\n", f"idea {work}")

    def run(session: Session, *rounds: int) -> list[tuple[int, int | None, int | None, int | None]]:
        number = session.history.begin({})
        for each in rounds:
            search(session, subject, Scripted(script), session=number, max_rounds=each)
        found = session.history.of_session(number)
        return [(each.round, each.island, each.parent, each.crossed) for each in found]

    other = Session(tmp_path / "other" / "results.db")
    with other.store:
        assert run(session, 6) == run(other, 2, 4, 6)


def test_a_parent_that_proves_wrong_is_replaced(subject: SearchSubject, session: Session) -> None:
    from example_results import incorrect

    class Doubting(type(session.workers)):  # type: ignore[misc]
        def attempt(self, device: Any, trial: Any, *others: Any) -> Any:
            right = "slower" not in trial.kernel.source
            return super().attempt(device, trial, *others) if right else incorrect("twice")

    session.workers = Doubting()

    def script(brief: Brief, number: int) -> Proposal:
        assert "slower" not in brief.kernel.source
        source = KERNEL.replace("400, 0, 100", f"{410 + number}")
        return proposal(f"{source}constant int slower{number} = 1;\n", f"slower {number}")

    (found,) = search(session, subject, Scripted(script), max_rounds=6).searches
    assert not found.improved
    assert Status.WRONG in {each.status for each in session.history.attempts(subject.place)}
