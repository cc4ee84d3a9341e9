"""The wheel's headers and a device, for every test here."""

from __future__ import annotations

from pathlib import Path

import pytest
from mlx_kernels import wheel

from metalbench import _core


@pytest.fixture(scope="session")
def headers() -> Path:
    try:
        return wheel.headers()
    except wheel.OutOfReachError as problem:
        pytest.skip(str(problem))


@pytest.fixture(scope="session")
def device() -> _core.Device:
    return _core.open()
