"""`metalbench run --ab-control`: wrong verdicts of equal sides are reported."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from example_results import correct, failed, measurement
from rich.console import Console

from metalbench.cli.run import print_control
from metalbench.store.result import Result
from metalbench.store.store import Store


def told(*results: Result) -> tuple[bool, str]:
    console = Console(file=io.StringIO(), width=200)
    right = print_control(console, results)
    assert isinstance(console.file, io.StringIO)
    return right, console.file.getvalue()


def test_control_counts_verdicts_between_equal_kernels_as_false() -> None:
    same = replace(correct("relu"), measurement=measurement(reference=1.0))
    right, text = told(correct("softmax"), same, failed("gelu"))
    assert not right
    assert "false: 1 of 2 (softmax)." in text
    assert told(same) == (True, text.replace("1 of 2 (softmax)", "0 of 1"))


def path(reference: float) -> Result:
    result = correct()
    return replace(
        result,
        case=replace(result.case, set="control", task="path_control"),
        measurement=measurement(reference=reference),
    )


def test_control_reports_a_kernel_that_differs_through_mlx() -> None:
    same = replace(correct("relu"), measurement=measurement(reference=1.0))
    right, text = told(path(1.0), same)
    assert right
    assert "which must be SAME: SAME, 1.00" in text
    assert "false: 0 of 1." in text
    right, text = told(path(1.1), same)
    assert not right
    assert "which must be SAME: FASTER, 1.1" in text
    broken = replace(path(1.0), measurement=None)
    assert told(broken, same)[0] is False
    assert "not run, for MLX and metalbench have no GPU in common here" in told(same)[1]


def test_control_runs_mlx_against_itself_and_stores_nothing(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempted = []

    def attempt(device: Any, trial: Any, observer: Any) -> Result:
        attempted.append(trial.entry.name)
        return replace(correct(trial.entry.name), measurement=measurement(reference=1.0))

    monkeypatch.setattr("metalbench.run.control.attempt_control", attempt)
    result = shell("run", "twice", "thrice", "--ab-control")
    assert result.exit_code == 0, result.output
    assert attempted == ["twice", "thrice"]
    assert "FASTER and SLOWER are false: 0 of 2." in result.stdout
    assert not shell.db.exists()
    monkeypatch.setattr("metalbench.run.control.attempt_control", lambda *_: correct())
    assert shell("run", "twice", "--ab-control").exit_code == 1


def test_a_real_control_times_mlx(shell: Any) -> None:
    result = shell("run", "twice", "--ab-control")
    assert "Control: MLX was timed against itself" in result.stdout
    assert "Path control: not run" in result.stdout
    with Store(shell.db) as store:
        assert store.runs() == []
