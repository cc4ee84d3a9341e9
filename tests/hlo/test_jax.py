"""Functions of jax, in a process of their own: jax has threads, and others here fork."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "a_gradient_is_xlas_in_a_tree_of_its_own",
        "what_was_lowered_is_a_program_too",
        pytest.param("random_numbers_and_indices_are_xlas", marks=pytest.mark.slow),
    ],
)
def test_what_kernels_give_is_what_xla_gives(name):
    command = [sys.executable, str(Path(__file__).with_name("functions_of_jax.py")), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
