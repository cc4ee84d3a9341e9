"""A window that was given up ends while Python ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.metal, pytest.mark.usefixtures("metal_double")]

TESTS = Path(__file__).resolve().parents[1]
# `last` goes when Python takes its modules apart; other threads can have the GIL no more by then.
PROGRAM = """
import gc, os
from metal_double import plugin
import numpy as np
from metalbench import _core

double = plugin.controls()
SOURCE = "kernel void add(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"

def hang():
    metal = _core.open("metal")
    x = np.zeros(32, np.float32)
    pipeline = metal.compile(SOURCE).pipeline()
    add = _core.Dispatch(pipeline, {"x": x}, threads_in_grid=32, threads=32)
    double.set("hang_command_buffer")
    try:
        metal.run([add], time_limit=0.05)
    except _core.TimeLimitExceeded:
        os.write(1, b"given up, ")

class Last:
    def __del__(self, double=double, write=os.write):
        double.reset()
        while "DoubleCommandBuffer" in double.text("live_objects"):
            pass
        write(1, b"ended")

hang()
gc.collect()
last = Last()
"""


def test_memory_of_an_abandoned_window_stays_alive_at_exit() -> None:
    extension = str(sys.modules["metal_double.plugin"].EXTENSION)
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(TESTS), "METAL_DOUBLE": extension},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (answer.returncode, answer.stdout) == (0, "given up, ended"), answer.stderr
