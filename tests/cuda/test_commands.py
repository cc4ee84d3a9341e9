"""The commands on a machine with an NVIDIA GPU: over the double, whose kernels run here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cuda_double.running import run_python

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="NVIDIA's driver is for Linux, and so is its double",
)

TASK = '''"""Twice the input."""
from metalbench.task import normal, output, task

@task(
    sizes=dict(small=dict(n=100), large=dict(n=4096)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    flops="n",
    baseline="x + x",
    headline="large",
)
def {name}(x):
    return x + x
'''
KERNEL = """// dispatch: {name} threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void {name}(device const float* x, device float* y, constant uint& n,
                   uint i [[thread_position_in_grid]]) {{
  {body}
}}
"""
# The first two only at the size that is timed, where no checked run has been yet.
BODIES = {
    "wild": "y[n > 1000 ? i + (1 << 29) : i] = 2 * x[i];",
    "endless": "while (n > 1000) y[i] += 1; y[i] = 2 * x[i];",
    "twice": "y[i] = 2 * x[i];",
}


@pytest.fixture
def metalbench(tmp_path: Path) -> Any:
    """`metalbench run` of kernels of the above: exit code, results, and what was printed."""
    for name, body in BODIES.items():
        (tmp_path / f"{name}.py").write_text(TASK.format(name=name))
        (tmp_path / f"{name}.metal").write_text(KERNEL.format(name=name, body=body))

    def run(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
        file = tmp_path / "results.json"
        options = ["--device", "cuda", "--kernels", str(tmp_path), "--time", "0.05"]
        kept = ["--json", str(file), "--db", str(tmp_path / "store.db")]
        command = ["-m", "metalbench", "run", *arguments, *options, *kept]
        answer = run_python(*command, CUDA_DOUBLE_CLOCK="host")
        results = json.loads(file.read_text())["results"] if file.exists() else []
        return answer.returncode, results, answer.stdout

    return run


def test_a_fault_costs_its_kernel_and_no_other(metalbench):
    code, results, said = metalbench("wild", "twice")
    assert code == 1
    wild, twice = sorted(results, key=lambda each: each["task"] == "twice")
    (failure,) = wild["failures"]
    assert (failure["stage"], failure["kind"]) == ("verify", "FAULT")
    assert "[wild] CUDA_ERROR_ILLEGAL_ADDRESS" in failure["message"]
    assert twice["status"] == "correct", said
    # On the GPU's clock, without MLX; below a roof that was measured here.
    assert twice["gpu_ns"]["value"] > 0
    assert twice["ratio"] is None
    assert any("MLX has no GPU here" in note and "mlx[cuda13]" in note for note in twice["notes"])
    assert twice["roofline"]["bound"] in ("memory", "compute")
    assert "as measured here" in twice["roofline"]["reason"]
    # What the double's NVML tells of the clock.
    assert twice["state"]["throttle_reasons"] == ["power cap", "hardware thermal slowdown"]
    assert any("holds its clock back (power cap" in note for note in twice["notes"])


@pytest.mark.slow
def test_a_kernel_without_end_costs_no_other(metalbench):
    _, results, said = metalbench("endless", "twice")
    endless, twice = sorted(results, key=lambda each: each["task"] == "twice")
    (failure,) = endless["failures"]
    assert failure["kind"] == "TIME_LIMIT"
    assert "[endless] time limit" in failure["message"]
    assert twice["status"] == "correct", said


@pytest.mark.slow
def test_cold_inputs_exceed_the_cache_of_the_gpu(metalbench):
    code, (twice,), said = metalbench("twice", "--cold")
    assert code == 0, said
    assert twice["mode"] == "cold"
    assert "copies in memory" in twice["roofline"]["reason"]
    # Of 1 MiB: three times as much, 32 KiB a pass.
    assert not any("not quite cold" in note for note in twice["notes"])


@pytest.mark.slow
def test_a_fault_ends_a_run_in_one_process(metalbench):
    code, _, said = metalbench("wild", "twice", "--in-process")
    assert code == 2
    assert "wild (float32): incorrect at verify" in said
    assert "Not finished: 1 of 2" in said
    assert "this process has lost the GPU: [wild]" in said
    assert "in another process" in said
