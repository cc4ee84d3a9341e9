"""Kernels of the family `types` at values that their tasks do not draw, as the ends of types."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from kernel_outputs import compute

from metalbench.task.families import ELEMENTS

Array = np.ndarray[Any, Any]
RANDOM = np.random.Generator(np.random.Philox(23))
# That of elementwise tasks at size odd1.
SHAPE = ELEMENTS["odd1"]["rows"], ELEMENTS["odd1"]["cols"]


def spread(values: list[Any], kind: str, *, turned: bool = False) -> Array:
    """Return one side of all pairs of `values`: in turn, or `turned`, each for all others."""
    count = len(values)
    table = np.repeat(values, count) if turned else np.tile(values, count)
    return np.resize(np.array(table, kind), SHAPE)


@pytest.mark.parametrize(
    ("name", "kind", "values", "expected"),
    [
        ("floor_divide_int32", "int32", [-(2**31) + 1, -7, -1, 1, 7, 2**31 - 1], np.floor_divide),
        ("remainder_int32", "int32", [-(2**31) + 1, -7, -1, 1, 7, 2**31 - 1], np.remainder),
        ("multiply_int64", "int64", [-(2**63), -1, 0, 3, 2**32 + 1, 2**63 - 1], np.multiply),
        ("maximum_int16", "int16", [-(2**15), -1, 0, 2**15 - 1], np.maximum),
        ("left_shift", "uint32", [0, 1, 5, 31], np.left_shift),
        ("right_shift", "uint32", [0, 1, 5, 31], np.right_shift),
    ],
)
def test_functions_of_two_numbers_are_exact_at_the_ends_of_types(
    name: str, kind: str, values: list[int], expected: Any
) -> None:
    a, b = spread(values, kind), spread(values, kind, turned=True)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(compute(name, a=a, b=b)[1]["y"], expected(a, b))


def test_sums_of_bytes_stop_at_255() -> None:
    a, b = (
        spread([0, 1, 127, 254, 255], "uint8"),
        spread([0, 1, 127, 254, 255], "uint8", turned=True),
    )
    found = compute("add_saturated_uint8", a=a, b=b)[1]["y"]
    np.testing.assert_array_equal(found, np.minimum(a.astype(int) + b, 255))


def test_bits_are_counted_from_both_ends() -> None:
    x = spread([0, 1, 2, 3, 2**16, 2**31, 2**32 - 1], "uint32")
    ones = compute("population_count", x=x)[1]["y"]
    zeros = compute("leading_zeros", x=x)[1]["y"]
    texts = [format(each, "032b") for each in x.reshape(-1)]
    np.testing.assert_array_equal(ones.reshape(-1), [each.count("1") for each in texts])
    np.testing.assert_array_equal(
        zeros.reshape(-1), [len(each) - len(each.lstrip("0")) for each in texts]
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["less", "less_equal", "equal", "not_equal"])
def test_comparisons_with_nan_infinity_and_zeros_of_both_signs(name: str, dtype: str) -> None:
    values = [math.nan, -math.inf, -1.0, -0.0, 0.0, 1.0, math.inf]
    kind = compute(name, dtype=dtype)[0]["a"].dtype
    a, b = spread(values, "float32"), spread(values, "float32", turned=True)
    found = compute(name, dtype=dtype, a=a.astype(kind), b=b.astype(kind))[1]["y"]
    np.testing.assert_array_equal(found, getattr(np, name)(a, b))


@pytest.mark.parametrize("column", [0, 1, 31, 32, 127, 128, -1])
def test_one_truth_value_of_a_row_decides_wherever_it_is(column: int) -> None:
    x = np.zeros(compute("any_rows")[0]["x"].shape, bool)
    x[::2, column] = True
    np.testing.assert_array_equal(compute("any_rows", x=x)[1]["y"], x.any(axis=1))
    np.testing.assert_array_equal(compute("all_rows", x=~x)[1]["y"], (~x).all(axis=1))
    np.testing.assert_array_equal(compute("count_rows", x=x)[1]["y"], x.sum(axis=1))


def test_quotients_of_complex_numbers_do_not_overflow() -> None:
    shape = compute("complex_divide")[0]["a"].shape
    a = RANDOM.standard_normal(shape).astype(np.float32) * np.float32(1e30)
    b = RANDOM.standard_normal(shape).astype(np.float32) * np.float32(1e30)
    y = compute("complex_divide", a=a, b=b)[1]["y"].astype(np.float64)
    exact = (a[..., 0] + 1j * a[..., 1].astype(np.float64)) / (
        b[..., 0] + 1j * b[..., 1].astype(np.float64)
    )
    assert (np.abs(y[..., 0] + 1j * y[..., 1] - exact) <= 1e-5 * np.abs(exact)).all()


def test_products_of_bytes_are_exact_at_the_largest_sums() -> None:
    given, _ = compute("matmul_int8", "odd1")
    x = np.full_like(given["x"], -127)
    w = np.full_like(given["w"], -127)
    ones = {f"{name}_scales": np.ones_like(given[f"{name}_scales"]) for name in "xw"}
    y = compute("matmul_int8", "odd1", x=x, w=w, **ones)[1]["y"]
    np.testing.assert_array_equal(y, 127.0**2 * x.shape[1])


@pytest.mark.parametrize("name", ["softmax_strided", "rms_norm_strided", "copy_strided"])
def test_elements_that_a_view_skips_have_no_effect(name: str) -> None:
    given, plain = compute(name, "odd1")
    ((argument, x), *_) = [each for each in given.items() if each[1].ndim > 1]
    skipped = x.copy()
    if name == "softmax_strided":
        skipped[:, x.shape[1] // 2 :] = math.nan
    elif name == "rms_norm_strided":
        skipped[:, 8:] = math.nan
    else:
        skipped[..., 1::2] = math.nan
    _, found = compute(name, "odd1", **{argument: skipped})
    np.testing.assert_array_equal(found["y"], plain["y"])
