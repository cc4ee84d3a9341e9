"""This file's folder is where tests of every room find `example_results`."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_ways import WAYS, on
from short_form import CostRecorder, ShortForm

from metalbench import _core

if sys.platform == "darwin" and "metal" not in _core.devices():
    import mlx.core as mx

    # The GPU of a virtual machine, which METALBENCH_DEVICES leaves out: not for MLX either.
    mx.set_default_device(mx.cpu)

# What a shell starts in the background ignores Ctrl-C, and so does all that it starts: tests that
# press it would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Modules of tests are rewritten for messages of their assertions, which takes half of the time of
# collecting them. Worker processes and tests that run pytest read what was written before.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

TESTS = Path(__file__).parent
# The sample (`short_form.py`) has one case of a test in this number, and at least one. Folders
# whose tests have many cases have separate numbers.
ONE_IN = {
    ".": 4,
    "cases": 8,
    "cheats": 8,
    "checking": 160,
    "cli": 20,
    "cuda": 20,
    "device": 30,
    "escapes": 15,
    "formats": 6,
    "frontend": 25,
    "generated": 10,
    "hlo": 12,
    "kernelbench/problems": 240,
    "kernelbench/pytorch": 120,
    "kernels": 300,
    "metal": 8,
    "metal_kernel": 12,
    "mlx_kernels": 60,
    "msl": 200,
    "puzzle": 8,
    "run": 4,
    "sandbox": 10,
    "stats": 2,
    "steel": 20,
    "task": 12,
    "testing": 4,
    "tools": 5,
    "vectorize": 180,
    "verify": 10,
    "workers": 12,
    "workers/remote": 3,
}
if "METAL_DOUBLE" in os.environ:
    # The suite of every device is the cpu device's, too, which has more of it.
    ONE_IN |= {"device": 120, "metal": 8}

_AT_FIRST: dict[int, tuple[np.random.Generator, Any]] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the test suite."""
    parser.addoption(
        "--gpu-faults",
        action="store_true",
        help="run tests of the metal device that may take the GPU from the process",
    )
    parser.addoption(
        "--part",
        metavar="K/N",
        help="run the Kth of N parts of the cases; all parts together have each case once",
    )
    parser.addoption(
        "--record-costs",
        metavar="FILE",
        type=Path,
        help="append the time of each case to FILE, for tools/list_costs.py",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the sample of the short form, and the record of costs if it is asked for."""
    costly = [line.split()[0] for line in (TESTS / "costs.txt").read_text().splitlines()]
    config.pluginmanager.register(ShortForm(TESTS, ONE_IN, costly), "metalbench-short-form")
    if (path := config.getoption("--record-costs")) is not None:
        config.pluginmanager.register(CostRecorder(path.absolute()), "metalbench-costs")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no rubbish among thousands of tests that are made: a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def the_same_draws_in_any_order(request: pytest.FixtureRequest) -> None:
    """Set a file's generators back: which worker runs which tests must change no draw."""
    for value in vars(request.module).values() if request.module else ():
        if isinstance(value, np.random.Generator):
            _, state = _AT_FIRST.setdefault(id(value), (value, value.bit_generator.state))
            value.bit_generator.state = state


@pytest.fixture(params=WAYS)
def both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a test with its kernels as vectors, and once more as fibers."""
    with on(request.param, request.node):
        yield
