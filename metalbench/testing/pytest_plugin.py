"""pytest fixtures for tests of Metal kernels, and an ini option for code with MLX kernels.

The rest of the package is imported when a fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from metalbench.testing import Checked, Timing

OPTION = "metal_kernel"
CHOICES = ("checked", "plain", "")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option `metal_kernel`."""
    parser.addini(
        OPTION,
        "let mx.fast.metal_kernel make kernels of MetalBench's engine in all tests, and while they "
        "are imported: `checked` (slow, stops at undefined behaviour) or `plain`",
        default="",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Patch MLX before any test module is imported, if the ini option says so."""
    kind = config.getini(OPTION)
    if kind not in CHOICES:
        raise pytest.UsageError(f"{OPTION}: expected checked or plain, got {kind!r}")
    if kind:
        from metalbench.mlx import patch_mlx

        config.add_cleanup(patch_mlx(device="cpu", checked=kind == "checked"))


@pytest.fixture(scope="session")
def check_kernel() -> Callable[..., Checked]:
    """Provide `metalbench.check_kernel`, which runs a kernel once and returns its findings."""
    from metalbench import testing

    return testing.check_kernel


@pytest.fixture(scope="session")
def assert_kernel() -> Callable[..., Checked]:
    """Provide `metalbench.assert_kernel`, which fails the test for a finding."""
    from metalbench.testing import assert_kernel as function

    return function


@pytest.fixture(scope="session")
def time_kernel() -> Callable[..., Timing]:
    """Provide `metalbench.time`, which times a kernel."""
    from metalbench.testing import time

    return time


@pytest.fixture
def patched_mlx() -> Iterator[None]:
    """Patch `mx.fast.metal_kernel` in the test: it returns checked kernels of the engine."""
    from metalbench.mlx import patched_mlx as context

    with context(device="cpu", checked=True):
        yield
