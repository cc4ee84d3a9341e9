"""The oracle at the timed size: the task's own, or MLX if that is slow."""

from __future__ import annotations

from pathlib import Path

import pytest
import samples

from metalbench import _core
from metalbench.errors import DeclarationError
from metalbench.kernel.library import Library
from metalbench.measure.measurement import Plan
from metalbench.run.attempt import attempt
from metalbench.run.budget import check_budget
from metalbench.run.trial import ALL, SMALL, Silent, Trial, device_facts
from metalbench.sandbox.resources import Limits
from metalbench.store.result import Result, Status

TASK = '''"""Twice the input; the oracle knows small sizes alone."""

import mlx.core as mx

from metalbench.task import normal, output, task


def exact(x):
    if x.size > 100:
        raise ValueError("far too large")
    return 2 * x


@task(
    sizes=dict(small=dict(n=100), odd=dict(n=77), seed=dict(n=5000)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=exact,
    flops="FLOPS",
    headline="seed",
    baseline="x + x",
)
def twice(x):
    return x + x
'''


def trial(folder: Path, statement: str, oracle: str, flops: str = "n", task: str = TASK) -> Trial:
    (folder / "twice.py").write_text(task.replace("FLOPS", flops))
    (folder / "twice.metal").write_text(samples.kernel(statement))
    entry = Library([folder]).entry("twice")
    plan = Plan(seconds=0.01, warmup_ns=0)
    return Trial(entry, entry.kernel(), "float32", plan=plan, oracle=oracle)


def tried(folder: Path, statement: str, oracle: str = SMALL, task: str = TASK) -> Result:
    return attempt(_core.open("cpu"), trial(folder, statement, oracle, task=task), Silent())


def test_mlx_is_the_oracle_at_the_timed_size_and_a_note_says_so(tmp_path: Path) -> None:
    result = tried(tmp_path, "y[i] = 2 * x[i];")
    assert result.status is Status.CORRECT, result.failures
    assert result.measurement is not None
    assert {each.size for each in result.checks} >= {"small", "odd", "seed"}
    (note,) = (each for each in result.notes if "--oracle small" in each)
    assert "MLX in float32 judged the results (--oracle small): at size seed" in note


def test_the_oracle_decides_if_mlx_and_the_kernel_differ(tmp_path: Path) -> None:
    wrong = TASK.replace("100", "10_000").replace(
        "return x + x", "return mx.where(x > 0, 2.01, 2) * x"
    )
    result = tried(tmp_path, "y[i] = 2 * x[i];", task=wrong.replace('    baseline="x + x",\n', ""))
    assert result.status is Status.CORRECT, result.failures
    assert {each.size for each in result.checks} >= {"small", "odd", "seed"}


@pytest.mark.parametrize(
    ("statement", "size"),
    [
        ("y[i] = n > 100 ? 2.01f * x[i] : 2 * x[i];", "seed"),
        ("y[i] = n == 77 ? 0 : 2 * x[i];", "odd"),
    ],
)
def test_wrong_results_are_found_by_either_oracle(
    tmp_path: Path, statement: str, size: str
) -> None:
    result = tried(tmp_path, statement)
    assert result.status is Status.INCORRECT
    assert f"size {size}" in result.failures[0].message


def test_the_oracle_is_used_at_every_size_by_default(tmp_path: Path) -> None:
    result = tried(tmp_path, "y[i] = 2 * x[i];", ALL)
    assert "far too large" in result.failures[0].message


def test_the_oracle_needs_no_time_where_it_is_not_asked(tmp_path: Path) -> None:
    device, limits = device_facts(_core.open("cpu")), Limits(600.0)
    flops = "10000000 * n"
    with pytest.raises(DeclarationError, match="time"):
        check_budget(trial(tmp_path, "y[i] = 2 * x[i];", ALL, flops), device, Limits(30.0))
    check_budget(trial(tmp_path, "y[i] = 2 * x[i];", SMALL, flops), device, limits)
