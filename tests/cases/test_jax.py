"""Run programs that once gave wrong numbers, crashed or never ended. Each has a process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "jax"
pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="jaxlib needs Python 3.11")


def lines_of(name: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(CASES / name)],
        env={
            **os.environ,
            "JAX_PLATFORMS": "metalbench,cpu",
            "METALBENCH_JAX_DEVICE": "cpu",
        },
        cwd=CASES,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_jax_barrier_of_two_shapes_keeps_both():
    assert lines_of("barrier_shapes.py") == ["True"] * 20


def test_jax_barriers_and_reductions_of_many_operands():
    *found, refused = lines_of("barrier_operands.py")
    assert found == [*(f"barrier {n} True" for n in (3, 15, 20, 40)), "reduce 3 True"]
    assert re.search(r"reduce 18 \[stablehlo.reduce\] .*: needs 36 buffers", refused)


def test_jax_gradient_of_a_rematerialised_function_is_xlas():
    barriers, platform, *errors = lines_of("remat.py")
    assert int(barriers.removeprefix("barriers ")) > 0
    assert platform == "platforms metalbench cpu"
    assert len(errors) == 2
    assert all(float(each.removeprefix("error ")) < 1e-4 for each in errors)


def test_jax_recursive_functions_are_refused_with_the_cycle():
    found = lines_of("recursive_call.py")
    cycles = ["@main -> @main", "@main -> @f -> @main", "@main -> @f -> @g -> @main"]
    assert len(found) == 3
    for line, cycle in zip(found, cycles, strict=True):
        assert line.startswith("[func.call] ")
        assert f"got the cycle {cycle};" in line


def test_jax_endless_loop_ends_at_its_limit():
    (line,) = lines_of("endless_loop.py")
    assert re.search(r"\[stablehlo.while\] .*: not ended after \d+ iterations: time limit", line)
