"""This file's folder is where tests of every room find `example_results`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from engine_ways import WAYS, on

from metalbench import _core

if sys.platform == "darwin" and "metal" not in _core.devices():
    import mlx.core as mx

    # The GPU of a virtual machine, which METALBENCH_DEVICES leaves out: not for MLX either.
    mx.set_default_device(mx.cpu)

_AT_FIRST: dict[int, tuple[np.random.Generator, Any]] = {}


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
