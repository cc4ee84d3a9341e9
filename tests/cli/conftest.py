"""A folder of small tasks and kernels of which each is right or wrong in its own way."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from steady_path import tmp_path

from metalbench.cli import main

__all__ = ["tmp_path"]

TASK = '''
"""Twice the input."""

import mlx.core as mx

from metalbench.task import normal, output, task


@task(
    sizes=dict(small=dict(n=100), odd1=dict(n=1023), seed=dict(n=4096), large=dict(n=8192)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    dtypes=("float32", "float16"),
    flops="n",
    baseline="x + x",
)
def NAME(x):
    return x + x
'''
KERNEL = """// Twice the input.
// dispatch: twice threads_in_grid=(n) threads=(256)
#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = STATEMENT;
}
"""
STATEMENTS = {"twice": "2 * x[i]", "thrice": "3 * x[i]", "broken": "2 * z[i]", "beyond": "x[i + 1]"}


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A folder with the kernels twice (right), thrice (wrong) and broken (does not compile)."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    for name, statement in STATEMENTS.items():
        (folder / f"{name}.py").write_text(TASK.replace("NAME", name))
        (folder / f"{name}.metal").write_text(KERNEL.replace("STATEMENT", statement))
    return folder


class Shell:
    """Runs commands with their own store."""

    def __init__(self, db: Path, kernels: Path) -> None:
        self.db = db
        self.kernels = kernels

    def __call__(self, *arguments: object) -> Result:
        command = [str(argument) for argument in arguments]
        if command[0] in ("run", "show", "list"):
            command += ["--kernels", str(self.kernels)]
        if command[0] == "run":
            # A device that a test has scripted is in this process only.
            command[1:1] = ["--time", "0.01", "--in-process"]
        if command[0] in ("run", "show", "doctor"):
            command += ["--db", str(self.db)]
        return CliRunner().invoke(main, command)


@pytest.fixture
def shell(tmp_path: Path, kernels: Path) -> Shell:
    return Shell(tmp_path / "results.db", kernels)
