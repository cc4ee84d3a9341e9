"""The cuda device for these tests, which are for machines with a GPU, or the double of one."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

import numpy as np
import pytest

from metalbench import _core

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
DOUBLE = os.environ.get("CUDA_DOUBLE")

collect_ignore_glob = [] if "cuda" in _core.devices() else ["test_*.py"]
if DOUBLE is not None:
    from cuda_double.build import replace_in

    from metalbench.msl import engine

    # pytest loads the package of an installed plugin, such as this one, with its own loader.
    replace_in(engine)
    # Their threads meet, which those of the double cannot.
    collect_ignore_glob += ["test_async_copy.py", "test_shared_addresses.py", "test_tensors.py"]
if DOUBLE is None:
    # They let the driver fail, and may take the GPU from the process.
    collect_ignore_glob += ["test_failures.py", "test_faults.py"]


@pytest.fixture
def device() -> _core.Device:
    return _core.open("cuda")


@pytest.fixture
def compiled(device) -> Callable[..., _core.Pipeline]:
    """The one kernel of a text."""
    return lambda text, **options: device.compile(HEAD + text, **options).pipeline()


@pytest.fixture
def double():
    """Control of the double; nothing that a test asked for is left behind."""
    library = ctypes.CDLL(DOUBLE)
    yield library
    library.cuda_double_stick(0)
    library.cuda_double_hang(0)
    library.cuda_double_patience(0)


def numbers(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=count).astype(np.float32)
