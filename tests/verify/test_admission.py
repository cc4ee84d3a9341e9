"""Every task of the library rejects what cannot be right; one that does not is found out."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from metalbench.cli import main
from metalbench.kernel.library import Library
from metalbench.task.workload import workload
from metalbench.verify import small_sizes
from metalbench.verify.admission import BadResult, TaskCheck, admit

LIBRARY = Library()
FLOATS = {
    "zeros",
    "a constant",
    "another seed's output",
    "the last tile missing",
    "rows permuted",
    "inputs in bfloat16",
    "arithmetic in bfloat16",
}


@pytest.mark.parametrize("entry", list(LIBRARY), ids=lambda each: each.name)
def test_admit_rejects_impossible_results(entry):
    task = entry.task
    trials = admit(task, sizes=small_sizes(task))
    assert {each.size for each in trials} == set(small_sizes(task))
    assert [each for each in trials if not each.rejected] == []
    copies = {f"a copy of {name}" for name in task.inputs}
    candidates = {each.candidate for each in trials}
    # A bad result that is right for a task is not tried: one row has no other order.
    assert copies | FLOATS - {"rows permuted", "arithmetic in bfloat16"} <= candidates


@pytest.mark.parametrize("entry", list(LIBRARY), ids=lambda each: each.name)
def test_a_task_accepts_its_rounded_oracle(entry):
    for size in small_sizes(entry.task):
        work = workload(entry.task, size)
        for name, expected in work.expected.items():
            rounded = expected.astype(entry.task.outputs[name].type_in(work.dtype).numpy)
            assert TaskCheck(work).factor(BadResult("right", name, rounded)) <= 1


def test_a_task_rejects_a_reduction_without_the_last_row():
    work = workload(LIBRARY.entry("mse_loss").task, "large")
    inputs = {name: each[:-1].astype(np.float64) for name, each in work.inputs.items()}
    total = np.square(inputs["prediction"] - inputs["target"]).sum()
    got = np.array([total / work.inputs["target"].size], np.float32)
    assert TaskCheck(work).factor(BadResult("short", "loss", got)) > 1


def test_admit_finds_a_lenient_task():
    """One whose scale is so large that all results are within rounding."""
    task = LIBRARY.entry("relu").task
    lenient = replace(task, scale=lambda x: np.full_like(x, 1e9))
    through = {each.candidate for each in admit(lenient, sizes=["small"]) if not each.rejected}
    assert "arithmetic in bfloat16" not in through, "the rms of thousands of elements tells"
    few = replace(lenient, sizes=dict(seed=dict(rows=2, cols=3)))
    through = {each.candidate for each in admit(few) if not each.rejected}
    assert through >= FLOATS


def test_admit_finds_inputs_without_variation():
    """Inputs without variations, all equal: every seed has the same output."""
    task = LIBRARY.entry("relu").task
    same = replace(
        task.inputs["x"],
        draw=lambda random, shape, values: np.ones(shape, np.float32),
        variations=(),
    )
    trials = admit(replace(task, inputs=dict(x=same)), sizes=["small"])
    through = {each.candidate for each in trials if not each.rejected}
    assert through == {"another seed's output"}


@pytest.mark.parametrize(
    "oracle", [lambda x: np.zeros(x.shape), lambda x: 1.0 * np.indices(x.shape)[1]]
)
def test_admit_finds_an_oracle_that_ignores_its_input(oracle):
    task = LIBRARY.entry("relu").task
    through = [each for each in admit(replace(task, oracle=oracle)) if not each.rejected]
    assert {each.candidate for each in through} == {"another seed's output"}
    assert {each.size for each in through} == {"small", "odd1", "odd2", "seed"}


def test_the_command_prints_a_table():
    result = CliRunner().invoke(main, ["admit", "relu", "mse_loss", "--size", "small"])
    assert result.exit_code == 0, result.output
    assert "All were rejected" in result.output
    lines = result.output.splitlines()
    assert any(line.startswith("mse_loss") and "a copy of target" in line for line in lines)


def test_the_command_prints_json():
    result = CliRunner().invoke(main, ["admit", "argmax", "--size", "small", "--json"])
    assert result.exit_code == 0, result.output
    trials = json.loads(result.output)["argmax"]
    assert {each["candidate"] for each in trials} >= {"zeros", "inputs in bfloat16"}
    assert all(each["rejected"] and each["factor"] is None for each in trials)


def test_admit_exits_with_an_error_if_a_wrong_result_passes(tmp_path):
    (tmp_path / "lenient.py").write_text(
        '"""Anything goes."""\n'
        "import numpy as np\n"
        "from metalbench.task import normal, output, task\n\n\n"
        "@task(\n"
        "    sizes=dict(seed=dict(n=16)),\n"
        '    inputs=dict(x=normal("n")),\n'
        '    outputs=dict(y=output("n")),\n'
        "    oracle=lambda x: x,\n"
        "    scale=lambda x: np.full_like(x, 1e9),\n"
        '    flops="n",\n'
        ")\n"
        "def lenient(x):\n"
        "    return x\n"
    )
    result = CliRunner().invoke(main, ["admit", "lenient", "--kernels", str(tmp_path)])
    assert result.exit_code == 1, result.output
    assert "LET THROUGH at seed" in result.output


def test_an_unknown_size_is_a_message():
    result = CliRunner().invoke(main, ["admit", "relu", "--size", "smal"])
    assert result.exit_code == 2
    assert "unknown size 'smal'; did you mean 'small'" in result.output
