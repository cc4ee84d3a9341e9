"""Shared by all tests of `metal_kernel`: run a source in one line, and MLX as on a Mac."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from metalbench import metal_kernel, patched_mlx

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


@pytest.fixture
def patched() -> Iterator[None]:
    """Within `patched_mlx`."""
    with patched_mlx():
        yield


@pytest.fixture
def blend() -> Callable:
    """2 a + b, by a kernel over arrays of one shape; a number may stand for `b`."""
    kernels = {
        element: metal_kernel(
            "blend",
            ["a", "b"],
            ["out"],
            f"uint i = thread_position_in_grid.x; out[i] = 2 * a[i] + {element};",
        )
        for element in ("b", "b[i]")
    }

    def blend(a, b):
        element = "b" if isinstance(b, (int, float)) else "b[i]"
        (out,) = kernels[element](
            inputs=[a, b],
            grid=(a.size, 1, 1),
            threadgroup=(32, 1, 1),
            output_shapes=[a.shape],
            output_dtypes=[a.dtype],
        )
        return out

    return blend
