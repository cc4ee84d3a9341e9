"""Folders of generations from untrusted sources: links, and files that are not our JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import samples
from click.testing import CliRunner, Result
from mutations import mutations

from metalbench.cli import main
from metalbench.errors import DeclarationError
from metalbench.kernelbench.folder import find_samples, read_plan, write_plan
from metalbench.kernelbench.result_files import read_problems
from metalbench.store.store import Store

PLAN = {"id": "abc", "problems": {samples.SET: [1, 2]}, "samples": 2, "asked": {"model": "m"}}
DEEP = "[" * 200_000 + "]" * 200_000


Read = TypeVar("Read")


class Shell:
    """Runs `evaluate` and `analyse` on a folder of samples that are prose, which nothing runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = samples.write_samples(folder / "run", [[samples.PROSE] * 2, [samples.PROSE]])
        self.kernels = samples.tasks_in(folder / "kernels", 2)

    def __call__(self, command: str, *options: object) -> Result:
        where = ["--db", self.folder / "a.db"]
        if command == "evaluate":
            where += ["--kernels", self.kernels, "--device", "cpu", "--time", "0.01"]
        done = CliRunner().invoke(main, [command, *map(str, (self.root, *where, *options))])
        assert done.exception is None or isinstance(done.exception, SystemExit), repr(
            done.exception
        )
        assert "\x1b" not in done.output
        return done

    def outcomes(self) -> dict[tuple[int, int], tuple[str, str]]:
        with Store(self.folder / "a.db") as store:
            found = store.evaluations(read_plan(self.root).id)
        return {
            (each.place.problem, each.place.sample): (each.outcome, each.message) for each in found
        }


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.mark.parametrize("name", ["run.json", "run.json.part", "run.part", ".run.json.part"])
@pytest.mark.parametrize("exists", [True, False])
def test_evaluate_writes_through_no_link(shell: Shell, name: str, exists: bool) -> None:
    victim = shell.folder / "victim"
    if exists:
        victim.write_text("mine")
    (shell.root / name).symlink_to(victim)
    done = shell("evaluate")
    assert done.exit_code == (2 if name == "run.json" else 0), done.output
    if name == "run.json":
        assert "a link that leads out of it" in done.output
    assert (victim.read_text() == "mine") if exists else not victim.exists()


@pytest.mark.parametrize("link", ["level", "problem", "sample", "part"])
def test_collect_writes_through_no_link(shell: Shell, link: str) -> None:
    (shell.kernels / samples.SET / "twice01.metal").write_text(samples.RIGHT)
    outside = shell.folder / "outside"
    (outside / "problem_1").mkdir(parents=True)
    victim = outside / "problem_1" / "sample_0.metal"
    victim.write_text("mine")
    shell.root = shell.folder / "ours"
    shell.root.mkdir()
    place = shell.root / samples.SET
    if link == "level":
        place.symlink_to(outside)
    else:
        place.mkdir()
    if link == "problem":
        (place / "problem_1").symlink_to(outside / "problem_1")
    elif link in ("sample", "part"):
        (place / "problem_1").mkdir()
        name = "sample_0.metal" if link == "sample" else "sample_0.metal.part"
        (place / "problem_1" / name).symlink_to(victim)
    done = shell("evaluate", "--collect", samples.SET)
    assert done.exit_code == (0 if link == "part" else 2), done.output
    assert link == "part" or "a link that leads out of it" in done.output
    assert victim.read_text() == "mine"
    assert [each.name for each in outside.rglob("*")] == ["problem_1", "sample_0.metal"]


@pytest.mark.parametrize(
    ("provenance", "says"),
    [
        (DEEP.encode(), "levels of nesting"),
        (b"{\n", "expected JSON; Input data was truncated"),
        (b"\x89PNG\x96\xff", "expected JSON; "),
        (b"[]", "Expected `object`, got `array`"),
        (b'{"task": 3}', "Expected `str | null`, got `int` - at `$.task`"),
        (b'{"task": "\\ud800"}', "expected JSON; "),
        (b'{"ending": NaN}', "expected JSON; JSON is malformed"),
        (b'{"task": "other"}', "tiny has no 'other'"),
        (b'{"task": "\\u001b[31mx"}', "tiny has no"),
        (b'{"ending": {"x": 1}}', "got `object` - at `$.ending`"),
    ],
)
def test_unreadable_provenance_fails_only_its_sample(
    shell: Shell, provenance: bytes, says: str
) -> None:
    (shell.root / samples.SET / "problem_1" / "sample_1.json").write_bytes(provenance)
    done = shell("evaluate")
    assert done.exit_code == 0, done.output
    found = shell.outcomes()
    assert found.pop((1, 1))[0] == "no text"
    assert {outcome for outcome, _ in found.values()} == {"prose"}
    assert len(found) == 2
    assert says in shell_message(shell)
    assert shell("analyse").exit_code == 0
    # A sample whose file was repaired is evaluated again.
    (shell.root / samples.SET / "problem_1" / "sample_1.json").write_text("{}")
    assert "2 evaluated before" in shell("evaluate").output


def shell_message(shell: Shell) -> str:
    return shell.outcomes()[1, 1][1]


def test_two_files_of_one_sample_fail_only_that_sample(shell: Shell) -> None:
    (shell.root / samples.SET / "problem_1" / "sample_1.py").write_text("")
    assert shell("evaluate").exit_code == 0
    assert shell.outcomes()[1, 1][0] == "no text"
    assert "expected one file, got sample_1.metal and sample_1.py" in shell_message(shell)
    assert shell.outcomes()[1, 0][0] == "prose"


@pytest.mark.parametrize("level", ["unknown", "\x1b[31mlev\n::error::x", os.fsdecode(b"l\xff\xfe")])
def test_samples_of_an_unknown_level_are_named_and_the_others_evaluated(
    shell: Shell, level: str
) -> None:
    place = shell.root / level / "problem_1"
    place.mkdir(parents=True)
    (place / "sample_0.metal").write_text(samples.PROSE)
    done = shell("evaluate")
    assert done.exit_code == 1, done.output
    assert "Not tried: " in done.output
    assert "expected level_N, or a set of tasks" in done.output
    assert len(shell.outcomes()) == 3
    assert shell("analyse").exit_code == 0


def test_samples_of_an_unknown_problem_are_named(shell: Shell) -> None:
    place = shell.root / samples.SET / "problem_999999"
    place.mkdir()
    (place / "sample_0.metal").write_text(samples.PROSE)
    done = shell("evaluate")
    assert done.exit_code == 1
    assert "expected problem 1 to 2 of tiny, got 999999" in done.output
    assert len(shell.outcomes()) == 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"samples": float("inf")}, "JSON is malformed: invalid character"),
        ({"samples": 300_000_000}, "Expected `int` <= 1000000 - at `$.samples`"),
        ({"samples": 600_000}, "at most 1000000 samples of all problems, got 1200000"),
        ({"samples": 0}, "Expected `int` >= 1 - at `$.samples`"),
        ({"samples": True}, "Expected `int`, got `bool` - at `$.samples`"),
        ({"samples": "2"}, "Expected `int`, got `str` - at `$.samples`"),
        ({"id": "x\ud800"}, "expected JSON; "),
        ({"id": "x" * 201}, "length <= 200 - at `$.id`"),
        ({"id": 3}, "Expected `str`, got `int` - at `$.id`"),
        ({"problems": []}, "Expected `object`, got `array` - at `$.problems`"),
        ({"problems": {"tiny": [-1]}}, "Expected `int` >= 0 - at `$.problems[...][0]`"),
        ({"problems": {"tiny": []}}, "problems: expected at least one, as in"),
        ({"asked": 3}, "got `int` - at `$.asked`"),
        ({"x": "DEEP"}, "levels of nesting"),
    ],
)
def test_a_bad_run_file_is_one_clear_error(shell: Shell, change: dict[str, Any], says: str) -> None:
    text = json.dumps(PLAN | change).replace('"DEEP"', DEEP)
    (shell.root / "run.json").write_text(text)
    for command in ("evaluate", "analyse"):
        done = shell(command)
        assert done.exit_code == 2
        assert f"{shell.root / 'run.json'}: " in done.output
        assert says in done.output


def test_the_number_of_samples_of_a_folder_is_bounded(shell: Shell) -> None:
    (shell.root / samples.SET / "problem_1" / "sample_999999.metal").write_text(samples.PROSE)
    with pytest.raises(DeclarationError, match="at most 1000000 samples of all problems"):
        read_plan(shell.root, make=True)
    assert not (shell.root / "run.json").exists()


def classify_failure(read: Callable[[], Read]) -> Read | str:
    """Return the result of a reader, or its error's message."""
    try:
        return read()
    except DeclarationError as error:
        return str(error)


def test_any_mutation_of_a_run_file_is_read_or_refused(tmp_path: Path) -> None:
    read = 0
    for place, text in mutations(PLAN, 300, seed=3):
        (tmp_path / "run.json").write_text(text)
        found = classify_failure(lambda: read_plan(tmp_path))
        if isinstance(found, str):
            assert str(tmp_path / "run.json") in found, place
            continue
        read += 1
        write_plan(tmp_path, found)
        assert read_plan(tmp_path) == found
    assert read


def test_any_mutation_of_provenance_is_read_or_a_fault(shell: Shell) -> None:
    path = shell.root / samples.SET / "problem_2" / "sample_0.json"
    for place, text in mutations({"task": "twice02", "ending": "cut", "more": {}}, 200, seed=4):
        path.write_text(text)
        found = find_samples(shell.root)
        assert [bool(each.fault) for each in found[:2]] == [False, False], place
        assert found[2].hash()


RESULTS = {
    "1": [
        {
            "sample_id": 0,
            "compiled": True,
            "correctness": True,
            "metadata": {"hardware": "H100"},
            "runtime": 1.0,
            "runtime_stats": {"mean": 1.0, "std": 0.01, "min": 1.0, "max": 1.0, "num_trials": 100},
        }
    ]
}
TIMES = {"level3": {"1_MLP.py": {"mean": 2.0, "std": 0.01, "num_trials": 100}}}


def test_any_mutation_of_kernelbench_files_is_read_or_refused(tmp_path: Path) -> None:
    results, times = tmp_path / "eval_results.json", tmp_path / "times.json"
    (tmp_path / "generation_config.yaml").write_text("level: 3\n")
    for path, document, seed in ((results, RESULTS, 5), (times, TIMES, 6)):
        results.write_text(json.dumps(RESULTS))
        times.write_text(json.dumps(TIMES))
        read = 0
        for place, text in mutations(document, 150, seed):
            path.write_text(text)
            found = classify_failure(lambda: read_problems(tmp_path, times))
            if isinstance(found, str):
                assert str(path) in found, place
            else:
                read += 1
        assert read


@pytest.mark.parametrize("number", [300_000_000, -1, 2**70])
def test_sample_numbers_of_kernelbench_are_bounded(tmp_path: Path, number: int) -> None:
    (tmp_path / "generation_config.yaml").write_text("level: 3\n")
    changed = {"1": [RESULTS["1"][0] | {"sample_id": number}]}
    (tmp_path / "eval_results.json").write_text(json.dumps(changed))
    with pytest.raises(DeclarationError, match=r"Expected `int` .*sample_id"):
        read_problems(tmp_path, None)
