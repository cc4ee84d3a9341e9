"""The order of a search, and its memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalbench.errors import MachineError
from metalbench.tune.search import MOST_IN_TURN, Journal

SMALL = {"TG": (64, 32, 128), "KEEP": (4, 1)}
LARGE = {"A": tuple(range(16)), "B": tuple(range(16)), "C": (0, 1)}


def journal(path: Path, space: dict[str, tuple[int, ...]] = SMALL, **options: int) -> Journal:
    return Journal(path / "tuning.journal", "a search", space, **options)


def go_on(search: Journal, most: int = 1000) -> list[dict[str, int]]:
    seen = []
    while len(seen) < most:
        trial = search.next()
        if trial is None:
            break
        seen.append(dict(trial.params))
        search.tell(trial, float(trial.params.get("A", 0)))
    return seen


def test_a_small_space_is_searched_completely_once(tmp_path: Path) -> None:
    search = journal(tmp_path)
    seen = go_on(search)
    assert len(seen) == search.size == 6
    assert len({tuple(sorted(each.items())) for each in seen}) == 6


def test_tried_values_are_remembered_and_interrupted_ones_repeated(
    tmp_path: Path,
) -> None:
    first = journal(tmp_path)
    first.add({"TG": 64, "KEEP": 4}, 1.0)
    wrong, broken_off = first.next(), first.next()
    assert wrong is not None
    assert broken_off is not None
    first.tell_fault(wrong, "it is wrong")
    again = journal(tmp_path)
    known = list(again.read_candidates())
    assert known == [
        ({"TG": 64, "KEEP": 4}, 1.0, ""),
        (dict(wrong.params), None, "it is wrong"),
    ]
    left = go_on(again)
    assert len(left) == 4
    assert dict(broken_off.params) in left


def test_another_search_has_a_memory_of_its_own(tmp_path: Path) -> None:
    go_on(journal(tmp_path))
    other = Journal(tmp_path / "tuning.journal", "another", SMALL)
    assert not list(other.read_candidates())


def test_a_large_space_is_sampled_towards_the_best_without_repetition(tmp_path: Path) -> None:
    search = journal(tmp_path, LARGE)
    assert search.size > MOST_IN_TURN
    seen = go_on(search, most=80)
    assert len({tuple(sorted(each.items())) for each in seen}) == 80
    assert len(list(search.read_candidates())) == 80  # suggestions of what was known do not count
    assert sum(each["A"] == 15 for each in seen[10:50]) >= 8  # 2.5 by chance


def test_a_journal_without_optuna_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(MachineError, match=r"pip install 'metalbench\[tune\]'"):
        journal(tmp_path)
