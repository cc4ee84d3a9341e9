"""Cheats on a Metal device, from their files to the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy

import pytest
from click.testing import CliRunner

from metalbench.cli import main

pytestmark = pytest.mark.metal

CHEATS = Path(__file__).parents[1] / "cheats"


def result_of(source: Path, task: str, folder: Path) -> dict[str, object]:
    """Return the result of a run with a kernel in place of the task's own."""
    for each in (CHEATS / "tasks").glob("*.py"):
        copy(each, folder)
    copy(source, folder / f"{task}.metal")
    # The double exists in this process only.
    where = ["--in-process", "--device", "metal", "--kernels", str(folder)]
    options = ["--size", "seed", "--time", "0.05", "--json", "-", "--db", str(folder / "db")]
    answer = CliRunner().invoke(main, ["run", task, *where, *options])
    (result,) = json.loads(answer.stdout)["results"]
    return dict(result)


LONG = [
    ("sampled_keys_in_scratch", "square_product", {"UNINITIALISED", "STALE_RESULT"}),
    ("stale_product_at_the_headline_size", "square_product", {"UNINITIALISED"}),
    ("half_of_each_row", "argmax", {"WRONG_RESULT"}),
    ("race_at_the_headline_size", "relu", {"RACE"}),
]


@pytest.mark.parametrize(
    ("cheat", "task", "kinds"),
    [
        ("kept_by_exchange", "square_product", {"LESS_WORK"}),
        ("last_element_of_a_mean", "mean_of_all", {"WRONG_RESULT"}),
        ("input_changed_at_the_headline_size", "relu", {"INPUT_CHANGED"}),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in LONG),
    ],
)
def test_a_cheat_is_rejected(cheat: str, task: str, kinds: set[str], tmp_path: Path) -> None:
    result = result_of(CHEATS / f"{cheat}.metal", task, tmp_path)
    found = {each["kind"] for each in result["failures"]}
    assert result["status"] != "correct"
    assert found, result
    assert found <= kinds


@pytest.mark.parametrize("task", ["square_product", "mean_of_all"])
def test_its_honest_twin_is_correct(task: str, tmp_path: Path) -> None:
    result = result_of(CHEATS / "tasks" / f"{task}.metal", task, tmp_path)
    assert result["status"] == "correct", result["failures"]
