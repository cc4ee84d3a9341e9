"""`metalbench run FILE.py`: refused files, and their messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from metalbench.cli import main


def run(folder: Path, text: str, *options: str, name: str = "answer.py") -> Result:
    (folder / name).write_text(text)
    where = ["--device", "cpu", "--db", str(folder / "a.db")]
    return CliRunner().invoke(main, ["run", str(folder / name), *where, *options])


def test_run_refuses_launch_options_for_python_candidates(tmp_path: Path) -> None:
    for option in ("--cold", "--in-process", "--record", "--tuned"):
        told = run(tmp_path, "", "--task", "relu", option)
        assert told.exit_code == 2
        assert f"expected no {option} for a Python candidate" in told.output


def test_a_python_file_is_for_the_task_of_its_name(tmp_path: Path) -> None:
    told = run(tmp_path, "")
    assert told.exit_code == 2
    assert "there is no task 'answer'; name the task with --task NAME" in told.output
    text = "import os\n\n\ndef relu(x):\n    return os.abs(x)\n"
    told = run(tmp_path, text, name="relu.py")
    assert told.exit_code == 1, told.output
    assert "relu.py:1: imports os; a candidate gets" in told.output
    assert "relu (float32): failed at compile" in told.output


KERNEL = """// dispatch: answer threads_in_grid=(rows * cols) threads=(TG)
// tune: TG = 256
#include <metal_stdlib>
kernel void answer(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = metal::max(x[i], 0.0f);
}
"""


def test_a_metal_file_is_a_kernel_for_the_named_task(tmp_path: Path) -> None:
    options = ("--time", "0.01", "--size", "small")
    told = run(tmp_path, KERNEL, "--task", "relu", *options, name="answer.metal")
    assert told.exit_code == 0, told.output
    assert "relu  correct" in told.output
    assert "answer.metal, sha256" in told.output
    told = run(tmp_path, KERNEL, name="answer.metal")
    assert told.exit_code == 2
    assert "answer.metal: there is no task 'answer'; name the task with --task" in told.output
    (tmp_path / "answer.py").write_text("a task")
    told = run(tmp_path, KERNEL, name="answer.metal")
    assert f"(for {tmp_path / 'answer.py'}: --kernels {tmp_path}, and answer in" in told.output
    told = CliRunner().invoke(main, ["run", str(tmp_path / "none.metal"), "--task", "relu"])
    assert told.exit_code == 2
    assert "none.metal: there is no such file" in told.output


@pytest.mark.parametrize("threads", ["UNKNOWN", "2048"])
def test_a_wrong_header_is_a_failure_and_not_a_wrong_result(tmp_path: Path, threads: str) -> None:
    text = KERNEL.replace("threads=(TG)", f"threads=({threads})")
    told = run(tmp_path, text, "--task", "relu", "--time", "0.01", name="answer.metal")
    assert told.exit_code == 1
    assert "relu (float32): failed at verify" in told.output
    assert "answer.metal:1: answer threads" in told.output


def test_errors_of_generated_kernels_name_the_line_of_the_candidate(tmp_path: Path) -> None:
    text = """import mlx.core as mx


def relu(x):
    kernel = mx.fast.metal_kernel(
        name="r", input_names=["x"], output_names=["y"],
        source=\"\"\"
            uint i = thread_position_in_grid.x;
            y[i] = greater(x[i], 0.0f);
        \"\"\",
    )
    return kernel(inputs=[x], grid=(x.size, 1, 1), threadgroup=(64, 1, 1),
                  output_shapes=[x.shape], output_dtypes=[x.dtype])[0]
"""
    told = run(tmp_path, text, "--task", "relu", "--time", "0.01")
    assert told.exit_code == 1
    assert "answer.py:9:20: error: use of undeclared identifier 'greater'" in told.output
    assert "      9 |             y[i] = greater(x[i], 0.0f);" in told.output
