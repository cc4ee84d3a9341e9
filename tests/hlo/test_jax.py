"""Functions of JAX in a separate process: JAX starts threads, and other tests fork."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "a_gradient_in_a_tree_is_xlas",
        "a_lowered_function_is_a_program",
        "callbacks_run_in_compiled_functions",
        "linear_algebra_is_xlas",
        pytest.param("random_numbers_and_indices_are_xlas", marks=pytest.mark.slow),
    ],
)
def test_jax_results_agree_with_xla(name):
    command = [sys.executable, str(Path(__file__).with_name("functions_of_jax.py")), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
