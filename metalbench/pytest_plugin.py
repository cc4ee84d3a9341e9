"""pytest's fixtures for tests of Metal kernels, and its option for code that uses MLX's.

Nothing of the package is imported before a test asks for it.
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
    """Put the engine in MLX's place before any test's module is imported, if that is asked for."""
    kind = config.getini(OPTION)
    if kind not in CHOICES:
        raise pytest.UsageError(f"{OPTION}: expected checked or plain, got {kind!r}")
    if kind:
        from metalbench.custom_kernel import patch_mlx

        config.add_cleanup(patch_mlx(device="cpu", checked=kind == "checked"))


@pytest.fixture(scope="session")
def check_kernel() -> Callable[..., Checked]:
    """`metalbench.check`: run a kernel once, and say what is wrong with it."""
    from metalbench.testing import check

    return check


@pytest.fixture(scope="session")
def assert_kernel() -> Callable[..., Checked]:
    """`metalbench.assert_kernel`: the same, and fail with what is wrong."""
    from metalbench.testing import assert_kernel as function

    return function


@pytest.fixture(scope="session")
def time_kernel() -> Callable[..., Timing]:
    """`metalbench.time`: how long a kernel takes."""
    from metalbench.testing import time

    return time


@pytest.fixture
def patched_mlx() -> Iterator[None]:
    """Within the test, `mx.fast.metal_kernel` makes checked kernels of MetalBench's engine."""
    from metalbench.custom_kernel import patched_mlx as context

    with context(device="cpu", checked=True):
        yield
