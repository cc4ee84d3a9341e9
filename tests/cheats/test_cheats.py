"""Known cheats: each must be rejected, and for what it does."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from metalbench import _core
from metalbench.kernel import header as kernel
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import (
    Kind,
    Report,
    VerifyPlan,
    all_sizes,
    verify,
    verify_checked,
    verify_checked_as_timed,
    verify_same_work,
)

FOLDER = Path(__file__).parent
TASKS = FOLDER / "tasks"
CHEATS = sorted(FOLDER.glob("*.metal"))
HONEST = [*sorted(TASKS.glob("*.metal")), *sorted((FOLDER / "honest").glob("*.metal"))]
LIBRARY = Library([TASKS])
# Too large for quick tests, and no cheat's own.
SKIPPED = "large"
TIME_LIMIT = 3.0


def declared(source, word):
    """The comma-separated names behind `// word:`."""
    found = re.search(rf"^// {word}: (.*)$", source, re.MULTILINE)
    return found[1].split(", ") if found else []


def kinds(source, word):
    return {Kind(each) for each in declared(source, word)}


@pytest.fixture(autouse=True)
def _nothing_is_remembered(monkeypatch):
    """Clear the cache, so that every test repeats the check at the timed size."""
    monkeypatch.setattr("metalbench.verify.checked._CheckRecord.load_note", lambda _: None)


def examined(path, seed=0) -> Report:
    """Everything that a run makes of a kernel, but its times."""
    # Fences are of metal3.2.
    device, candidate = _core.open("cpu"), replace(kernel.read(path), standard="metal3.2")
    (name,) = declared(candidate.source, "task") or [path.stem]
    task = LIBRARY.entry(name).task
    sizes = [each for each in all_sizes(task, seed) if each != SKIPPED]
    plain = verify(
        Builds(device, candidate, task),
        VerifyPlan(sizes=sizes, seed=seed, time_limit=TIME_LIMIT, timed=task.headline),
    )
    checked = verify_checked(Builds(device, candidate, task), seed=seed, time_limit=TIME_LIMIT)
    timed = verify_checked_as_timed(
        Builds(device, candidate, task), size=task.headline, seed=seed, seconds=TIME_LIMIT
    )
    found = plain + checked + timed
    if found.passed:
        found += verify_same_work(Builds(device, candidate, task), seed=seed, time_limit=TIME_LIMIT)
    return found


@pytest.mark.parametrize("path", CHEATS, ids=lambda path: path.stem)
def test_a_cheat_is_rejected(path):
    source = path.read_text()
    report = examined(path, *map(int, declared(source, "seed")))
    assert report.findings, "let through"
    messages = [str(each) for each in report.findings]
    found = {each.kind for each in report.findings}
    assert found - kinds(source, "perhaps") == kinds(source, "verdict"), messages
    for words in declared(source, "says"):
        assert any(words in message for message in messages), messages


@pytest.mark.parametrize("path", HONEST, ids=lambda path: path.stem)
def test_an_honest_twin_passes(path):
    report = examined(path)
    assert report.passed, list(map(str, report.findings))
    assert report.skipped == ()


@pytest.mark.parametrize("stem", ["table_of_known_seeds", "drawn_size_known"])
def test_a_kernel_with_stored_results_passes_if_the_seed_is_known(stem):
    assert examined(FOLDER / f"{stem}.metal", seed=0).passed
