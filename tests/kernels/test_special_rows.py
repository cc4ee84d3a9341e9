"""Rows of NaN, infinities, subnormals and zeros of both signs: results are those of MLX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import compile_kernel
from metalbench.task.workload import workload

LIBRARY = Library()
NAN, INF = np.nan, np.inf
TINY = np.float32(1e-45)  # the smallest subnormal
# Of bfloat, as a float.
TINY_BFLOAT = np.uint32(1 << 16).view(np.float32)
COLS = 40
# A row has one element at least, which is repeated.
ROWS: tuple[Mapping[int, float], ...] = (
    {0: NAN},
    {17: NAN, 30: NAN},
    {39: NAN},
    {3: INF, 9: NAN},
    {3: NAN, 9: INF, 11: -INF},
    dict.fromkeys(range(COLS), NAN),
    dict.fromkeys(range(COLS), -INF),
    dict.fromkeys(range(COLS), INF),
    {**dict.fromkeys(range(COLS), -INF), 38: NAN},
    {**dict.fromkeys(range(COLS), -INF), 5: 2.0},
    {**dict.fromkeys(range(COLS), NAN), 21: 1.0, 22: -INF},
    {1: -0.0, 2: 0.0, 30: -0.0},
    {1: TINY, 2: -TINY, 30: 3 * TINY, 31: 2 * TINY},
    {1: TINY_BFLOAT, 2: -TINY_BFLOAT, 30: 3 * TINY_BFLOAT},
)


def special_rows() -> np.ndarray[Any, Any]:
    x = np.random.default_rng(0).standard_normal((len(ROWS), COLS)).astype(np.float32)
    for row, changes in zip(x, ROWS, strict=True):
        for column, value in changes.items():
            row[column] = value
    return x


def run(
    name: str, size: str, argument: str, x: np.ndarray[Any, Any], dtype: str = "float32"
) -> tuple[dict[str, np.ndarray[Any, Any]], list[np.ndarray[Any, Any]]]:
    """Return the outputs of a kernel with `x` for one argument, and those of MLX."""
    entry, device = LIBRARY.entry(name), _core.open("cpu")
    compiled = compile_kernel(device, entry.kernel(), entry.task, dtype_name=dtype)
    work = workload(entry.task, size, dtype_name=dtype, seed=0)
    kind = work.inputs[argument].dtype
    assert work.inputs[argument].shape == x.shape
    work = replace(work, inputs={**work.inputs, argument: x.astype(kind)})
    bound = compiled.bind(work)
    device.run(bound.dispatches)
    arrays = [
        mx.array(each.astype(np.float32)).astype(getattr(mx, dtype))
        if entry.task.inputs[key].type_in(work.dtype).is_float
        else mx.array(each)
        for key, each in work.inputs.items()
    ]
    known = entry.task.reference(*arrays, **entry.task.constants)
    known = known if isinstance(known, tuple) else (known,)
    wide = [each.astype(mx.float32) if each.dtype != mx.uint32 else each for each in known]
    outputs = {key: np.array(bound.read(key)) for key in entry.task.outputs}
    return outputs, [np.array(each) for each in wide]


@pytest.mark.parametrize("name", ["argmax", "argmin", "argsort_rows"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_positions_are_those_of_mlx(name: str, dtype: str) -> None:
    x = special_rows()
    got, (known,) = run(name, f"rows={len(x)},cols={COLS}", "x", x, dtype)
    np.testing.assert_array_equal(got["y"], known)


@pytest.mark.parametrize(
    "name", ["kb1_051_argmax_over_a_dimension", "kb1_052_argmin_over_a_dimension"]
)
def test_positions_in_columns_are_those_of_mlx(name: str) -> None:
    x = special_rows().T[None].copy()
    got, (known,) = run(name, spelled(name, x.shape), "x", x)
    np.testing.assert_array_equal(got["y"], known)


def spelled(name: str, shape: tuple[int, ...]) -> str:
    task = LIBRARY.entry(name).task
    extents = zip(task.sizes[task.headline], shape, strict=True)
    return ",".join(f"{key}={value}" for key, value in extents)


def test_a_token_of_a_row_without_odds_is_in_the_vocabulary() -> None:
    x = special_rows()
    got, (known,) = run("gumbel_argmax", f"rows={len(x)},vocabulary={COLS}", "logits", x)
    # Other rows are drawn by sums whose rounding may differ.
    np.testing.assert_array_equal(got["y"], known)
    assert (got["y"] < COLS).all()


@pytest.mark.parametrize("name", ["moe_router", "moe_router_all"])
def test_experts_are_those_of_mlx(name: str) -> None:
    x = special_rows()
    got, (weights, expert) = run(name, f"tokens={len(x)},experts={COLS}", "logits", x)
    np.testing.assert_array_equal(got["expert"], expert)
    np.testing.assert_allclose(got["weights"], weights, rtol=1e-5)


def test_biased_experts_are_those_of_mlx() -> None:
    x = special_rows()
    size = f"tokens={len(x)},experts={COLS}"
    got, (_, expert) = run("moe_router_biased", size, "scores", x)
    np.testing.assert_array_equal(got["expert"], expert)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_sorted_rows_have_the_subnormals_and_zeros_that_they_had(dtype: str) -> None:
    x = np.array(mx.array(special_rows()).astype(getattr(mx, dtype)).astype(mx.float32))
    got, (known,) = run("sort_rows", f"rows={len(x)},cols={COLS}", "x", x, dtype)
    y = got["y"].astype(np.float32)
    np.testing.assert_array_equal(y, known)
    # Zeros of both signs are equal. Of each sign there are as many as before.
    for before, after in zip(x, y, strict=True):
        assert np.signbit(before[before == 0]).sum() == np.signbit(after[after == 0]).sum()


def test_the_median_may_be_subnormal() -> None:
    x = np.full((1, 5), TINY)
    x[0, 0], x[0, 1] = -1, 2
    got, (known,) = run("median_rows", "rows=1,cols=5", "x", x)
    np.testing.assert_array_equal(got["y"], known)
    assert got["y"][0] == TINY
