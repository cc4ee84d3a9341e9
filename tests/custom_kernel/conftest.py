"""Shared by all tests of `metal_kernel`: run a source in one line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from metalbench import metal_kernel

DEFINING = {"header", "ensure_row_contiguous", "atomic_outputs", "compile_options", "checked"}


@pytest.fixture
def run() -> Callable:
    """Run `source` over inputs `a`, `b`, ... to `out` (`out1`, ... if there are several)."""

    def run(source, inputs, shapes, dtypes, *, grid, threadgroup=(64, 1, 1), **options) -> list:
        outputs = ["out"] if len(shapes) == 1 else [f"out{i + 1}" for i in range(len(shapes))]
        defining = {key: options.pop(key) for key in DEFINING & options.keys()}
        kernel = metal_kernel("test", list("abcdefg"[: len(inputs)]), outputs, source, **defining)
        return kernel(
            inputs=inputs,
            output_shapes=shapes,
            output_dtypes=dtypes,
            grid=grid if isinstance(grid, tuple) else (grid, 1, 1),
            threadgroup=threadgroup,
            **options,
        )

    return run
