"""Products of tensors by scopes of SIMD-groups on the cuda device: on Hopper by warpgroups."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from cuda.test_warpgroups import KERNEL

from metalbench import _core

DTYPES = {"half": np.float16, "bfloat": ml_dtypes.bfloat16, "float": np.float32}
TURNS = list(itertools.product(("false", "true"), repeat=2))
# Tiles, and SIMD-groups.
SHAPES = [(64, 32, 4), (128, 128, 4), (128, 256, 8), (256, 128, 8), (96, 40, 4)]


@pytest.mark.parametrize(("m", "n", "groups"), SHAPES)
@pytest.mark.parametrize(("left", "right"), TURNS)
@pytest.mark.parametrize("element", ["half", "bfloat", "float"])
def test_tiles_of_a_product_are_right(device, m, n, groups, left, right, element):
    macros = {"T": element, "M": m, "N": n, "GROUPS": groups, "LEFT": left, "RIGHT": right}
    macros |= {"__METAL_VERSION__": 400}
    library = device.compile(KERNEL, macros={name: str(value) for name, value in macros.items()})
    pipeline = library.pipeline()
    dtype = DTYPES[element]
    # Whole tiles and stages, edges that are aligned for wide copies, and others.
    for size in (256, 136, 83):
        random = np.random.default_rng(size)
        # Sums of small integers are exact.
        a, b = (random.integers(-2, 3, (size, size)).astype(dtype) for _ in range(2))
        c = np.zeros((size, size), dtype)
        given = {"a": a, "b": b, "c": c, "n": size}
        threads = 32 * groups
        grid = (-(-size // n) * threads, -(-size // m), 1)
        dispatch = _core.Dispatch(pipeline, given, threads_in_grid=grid, threads=(threads, 1, 1))
        device.run([dispatch])
        wide = [each.astype(np.float32) for each in (a, b)]
        expected = (wide[0].T if left == "true" else wide[0]) @ (
            wide[1].T if right == "true" else wide[1]
        )
        np.testing.assert_array_equal(c.astype(np.float32), expected.astype(dtype))
