"""JAX's calls on the metal device return before the GPU is done."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.metal,
    pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX"),
]
FOLDER = Path(__file__).resolve().parent
# The package of the checkout, whose headers the double's extension uses.
PATHS = (FOLDER.parent, FOLDER.parents[1])


def test_steps_of_a_training_are_dispatched_without_a_wait(metal_double) -> None:
    variables = {
        "JAX_PLATFORMS": "metalbench,cpu",
        "METALBENCH_JAX_DEVICE": "metal",
        "PYTHONPATH": os.pathsep.join(map(str, PATHS)),
    }
    done = subprocess.run(
        [sys.executable, str(FOLDER / "training_of_jax.py")],
        env={**os.environ, **variables},
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    # One command buffer for each step, and one for the copy of each batch but the first.
    assert seen["ended"] == 0
    assert 20 <= seen["commits"] <= 40
    assert seen["difference"] < 1e-5
    assert seen["losses"] == 20
