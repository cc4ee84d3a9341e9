"""A kernel that asks for too much is a failed row of a run; the others are tried."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import samples
from click.testing import CliRunner

from metalbench.cli import main
from metalbench.store.store import Store

DIGITS = "5" * 5000
SCRATCH = "// scratch: w float32 (100000, 100000)\n"


def statuses(shell: Any, names: list[str]) -> dict[str, list[str]]:
    with Store(shell.db) as store:
        return {name: [each.status for each in store.history(name)] for name in names}


def test_run_tries_the_others(shell: Any, kernels: Path) -> None:
    source, task = ((kernels / f"twice.{end}").read_text() for end in ("metal", "py"))
    line = "// dispatch: twice threads_in_grid=(n) threads=(256)"
    takes = source.replace("device float* y,", "device float* y, device float* w,")
    hostile = {
        "digits": source.replace("(n)", f"({DIGITS})"),
        "overflow": source.replace("(n)", f"({' * '.join(['n'] * 100)})"),
        "scratch": SCRATCH + takes,
        "tunables": "".join(f"// tune: T{i} = 1, 2\n" for i in range(5000)) + source,
        "dispatches": f"{line}\n" * 5000 + source,
        "threads": source.replace("(256)", "(4294967295, 4294967295, 4294967295)"),
        "binary": "\0\1\2" * 100,
        "empty": "",
    }
    for name, text in hostile.items():
        (kernels / f"{name}.metal").write_text(text)
        (kernels / f"{name}.py").write_text(task.replace("twice", name))
    odd = ["folder", "pipe", "large"]
    for name in odd:
        (kernels / f"{name}.py").write_text(task.replace("twice", name))
    (kernels / "folder.metal").mkdir()
    os.mkfifo(kernels / "pipe.metal")
    with (kernels / "large.metal").open("wb") as file:
        file.truncate(1 << 34)
    names = [*hostile, *odd]
    result = shell("run", *names, "twice")
    assert result.exit_code == 1, result.output
    for name, (status,) in statuses(shell, names).items():
        assert status in ("failed", "incorrect"), name
    assert statuses(shell, ["twice"]) == {"twice": ["correct"]}
    assert "digits.metal:2:" in result.stdout
    assert "expected a whole number less than 2^63" in result.stdout
    assert "scratch.metal:1: w: expected scratch of at most" in result.stdout


@pytest.mark.parametrize("kind", ["folder", "pipe", "large", "binary"])
def test_run_of_an_odd_python_file(shell: Any, kernels: Path, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "candidate.py"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(1 << 34)
    else:
        path.write_bytes(b"\xff\xfe\0\0")
    result = shell("run", path, "--task", "twice")
    assert result.exit_code in (1, 2), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_evaluate_continues_after_hostile_files(tmp_path: Path) -> None:
    from metalbench.kernelbench.folder import read_plan

    kernels = samples.tasks_in(tmp_path / "kernels", 1)
    texts = [samples.RIGHT, samples.RIGHT.replace("(n)", f"({DIGITS})"), SCRATCH + samples.RIGHT]
    root = samples.write_samples(tmp_path / "run", [texts])
    folder = root / samples.SET / "problem_1"
    (folder / "sample_3.metal").mkdir()
    os.mkfifo(folder / "sample_4.metal")
    with (folder / "sample_5.metal").open("wb") as file:
        file.truncate(1 << 34)
    (folder / "sample_6.py").write_bytes(b"\xff\xfe\0\0")
    (folder / "sample_7.metal").symlink_to("/dev/zero")
    (folder / "sample_8.metal").symlink_to(folder / "missing")
    db = tmp_path / "results.db"
    command = ["evaluate", root, "--kernels", kernels, "--db", db, "--device", "cpu"]
    result = CliRunner().invoke(main, [*map(str, command), "--time", "0.05"])
    assert result.exit_code == 0, result.output
    with Store(db) as store:
        found = store.evaluations(read_plan(root).id)
    outcomes = {each.place.sample: each.outcome for each in found}
    assert outcomes.pop(0) == "correct"
    assert sorted(outcomes) == list(range(1, 9))
    assert "correct" not in outcomes.values()
