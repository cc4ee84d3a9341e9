"""Reasons why a kernel cannot be tried are reported, and are not stored as results."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from metalbench.errors import MachineError, OutOfMemoryError, TaskError, find_machine_error
from metalbench.store.store import Store


def statuses(shell: Any) -> dict[str, list[str]]:
    names = ("twice", "thrice", "fourfold", "orphan", "beyond")
    with Store(shell.db) as store:
        return {name: [each.status for each in store.history(name)] for name in names}


BROKEN = {
    "1 +\n": "fourfold.py:1: SyntaxError: invalid syntax",
    "\nimport nonesuch\n": "fourfold.py:2 cannot be imported: ModuleNotFoundError",
    "\n\nraise SystemExit('no')\n": "fourfold.py:3 cannot be imported: SystemExit: no",
    "x = 1\n": "expected a function 'fourfold' under @task",
    "from metalbench.expression import parse\nparse('1 +')\n": "fourfold.py:2)",
}


@pytest.mark.parametrize(("text", "words"), BROKEN.items(), ids=range(len(BROKEN)))
def test_a_broken_task_does_not_hide_the_others(
    shell: Any, kernels: Path, text: str, words: str
) -> None:
    (kernels / "fourfold.py").write_text(text)
    (kernels / "fourfold.metal").write_text((kernels / "twice.metal").read_text())
    result = shell("run", "fourfold", "thrice", "twice")
    assert result.exit_code == 2
    assert "Not tried: " in result.stdout
    assert words in " ".join(result.stdout.split())
    assert "1 of 2 correct" in result.stdout
    kept = statuses(shell)
    assert (kept["fourfold"], kept["thrice"], kept["twice"]) == ([], ["incorrect"], ["correct"])


def test_a_kernel_without_a_task_does_not_hide_the_others(shell: Any, kernels: Path) -> None:
    (kernels / "orphan.metal").write_text((kernels / "twice.metal").read_text())
    assert shell("run", "twice").exit_code == 0
    result = shell("run", "orphan", "twice")
    assert result.exit_code == 2
    assert "Not tried: [orphan]" in result.stdout
    assert statuses(shell)["orphan"] == []
    assert statuses(shell)["twice"] == ["correct", "correct"]


def test_list_shows_broken_tasks_and_the_others(shell: Any, kernels: Path) -> None:
    (kernels / "thrice.py").write_text("\n1 +\n")
    result = shell("list")
    assert result.exit_code == 2
    assert ["thrice", "user", "float32", "wrong", "task"] in [
        line.split() for line in result.stdout.splitlines()
    ]
    assert "twice" in result.stdout
    assert "thrice.py:2: SyntaxError" in result.stderr


def test_run_refuses_a_size_that_some_tasks_lack(shell: Any, kernels: Path) -> None:
    text = (kernels / "thrice.py").read_text()
    (kernels / "thrice.py").write_text(text.replace(", large=dict(n=8192)", ""))
    result = shell("run", "twice", "thrice", "--size", "large")
    assert result.exit_code == 2
    assert "Not tried: [thrice] unknown size 'large'" in result.stdout
    assert (statuses(shell)["twice"], statuses(shell)["thrice"]) == (["correct"], [])


def test_a_dtype_that_the_task_lacks_is_not_stored_as_a_result(shell: Any, kernels: Path) -> None:
    for name in ("twice", "beyond"):
        source = (kernels / f"{name}.metal").read_text()
        (kernels / f"{name}.metal").write_text(f"// dtypes: float32, bfloat16\n{source}")
    result = shell("run", "twice", "--dtype", "bfloat16")
    assert result.exit_code == 2
    assert "[twice] dtype: expected one of float32, float16, got 'bfloat16'" in result.stdout
    assert statuses(shell)["twice"] == []


def test_a_broken_task_is_reported_by_the_worker(shell: Any, kernels: Path) -> None:
    from click.testing import CliRunner

    from metalbench.cli import main

    (kernels / "thrice.py").write_text("\nraise SystemExit\n")
    command = ["run", "thrice", "twice", "--kernels", str(kernels), "--db", str(shell.db)]
    result = CliRunner().invoke(main, [*command, "--time", "0.01", "--device", "cpu"])
    assert result.exit_code == 2
    assert "thrice.py:2 cannot be imported: SystemExit" in " ".join(result.stdout.split())
    assert (statuses(shell)["thrice"], statuses(shell)["twice"]) == ([], ["correct"])


def test_a_machine_error_ends_the_run_without_a_result(shell: Any, kernels: Path) -> None:
    task = (kernels / "thrice.py").read_text()
    greedy = "oracle=lambda x: [bytearray(2**62)]"
    (kernels / "thrice.py").write_text(task.replace("oracle=lambda x: 2 * x", greedy))
    result = shell("run", "twice", "thrice", "beyond")
    assert result.exit_code == 2
    assert "memory does not suffice" in result.stderr
    assert "ulimit -v" in result.stderr
    kept = statuses(shell)
    assert (kept["twice"], kept["thrice"], kept["beyond"]) == (["correct"], [], [])


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (MemoryError(), "memory does not suffice"),
        (OSError(errno.ENOSPC, "No space left on device", "/full/file"), "/full/file: No space"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "free some space"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "memory does not suffice"),
    ],
)
def test_missing_system_resources_are_not_kernel_failures(cause: Exception, words: str) -> None:
    try:
        raise TaskError("[relu] oracle") from cause
    except TaskError as error:
        found = find_machine_error(error)
    assert isinstance(found, MachineError)
    assert isinstance(found, OutOfMemoryError) == ("memory" in words)
    assert words in str(found)


def test_other_faults_are_not_the_machines() -> None:
    assert find_machine_error(TaskError("wrong")) is None
    assert find_machine_error(FileNotFoundError(errno.ENOENT, "No such file")) is None
    hidden = TaskError("something else")
    hidden.__context__, hidden.__suppress_context__ = MemoryError(), True
    assert find_machine_error(hidden) is None


def test_an_unwritable_cache_is_not_a_kernel_failure(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "file"))
    result = shell("run", "twice", "thrice")
    assert result.exit_code == 2
    assert f"the cache of compiled kernels {tmp_path / 'file'} cannot be written" in result.stderr
    assert "set METALBENCH_CACHE to a folder that can" in result.stderr
    assert statuses(shell)["twice"] == []
