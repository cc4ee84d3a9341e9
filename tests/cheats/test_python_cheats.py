"""Known cheats in Python: each is rejected for what it does, or gains nothing by it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from metalbench.cli import main
from metalbench.kernelbench.folder import read_plan
from metalbench.store.history import Evaluation
from metalbench.store.store import Store

FOLDER = Path(__file__).parent / "python"
TASKS = Path(__file__).parent / "tasks"
CHEATS = sorted(FOLDER.glob("*.py"))


def evaluated(root: Path, candidates: Sequence[Path]) -> list[Evaluation]:
    """Return the outcomes of candidates for the task `square_product`."""
    place = root / "run" / "user" / "problem_1"
    place.mkdir(parents=True)
    for number, path in enumerate(candidates):
        (place / f"sample_{number}.py").write_text(path.read_text())
        (place / f"sample_{number}.json").write_text(json.dumps({"task": "square_product"}))
    command = ["evaluate", root / "run", "--kernels", TASKS, "--db", root / "a.db"]
    options = ["--device", "cpu", "--time", 0.3, "--size", "seed"]
    done = CliRunner().invoke(main, list(map(str, [*command, *options])))
    assert done.exit_code == 0, done.output
    with Store(root / "a.db") as store:
        return store.evaluations(read_plan(root / "run").id)


def expect(path: Path, found: Evaluation) -> None:
    """Assert that an outcome agrees with the comments of a cheat."""
    text = path.read_text()
    (outcome,) = re.findall(r"^# outcome: (.*)$", text, re.MULTILINE)
    assert found.outcome == outcome, (path.stem, found.message)
    for words in re.findall(r"^# says: (.*)$", text, re.MULTILINE):
        assert words in found.message, path.stem
    if "# slower\n" in text:
        assert found.ratio is not None
        # Several times the work: the median is below 1 on the busiest machine.
        assert found.ratio.value < 1, path.stem


def test_a_candidate_correct_only_while_checked_is_rejected(tmp_path: Path) -> None:
    path = FOLDER / "honest_at_first.py"
    (found,) = evaluated(tmp_path, [path])
    expect(path, found)


@pytest.mark.slow
def test_cheats_are_rejected_or_have_no_gain(tmp_path: Path) -> None:
    found = evaluated(tmp_path, CHEATS)
    told = {
        path.stem: (each.outcome, each.message) for path, each in zip(CHEATS, found, strict=True)
    }
    for path, each in zip(CHEATS, found, strict=True):
        expect(path, each)
    assert len(told) == len(CHEATS)
