"""bitcast_convert: integers of two and four bits in a byte each, doubles and complex numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from metalbench import hlo
from metalbench.errors import Unsupported
from metalbench.hlo.ir import ELEMENT_TYPES

NUMPY = {
    "i2": ml_dtypes.int2,
    "ui2": ml_dtypes.uint2,
    "i4": ml_dtypes.int4,
    "ui4": ml_dtypes.uint4,
    "i8": np.int8,
    "ui8": np.uint8,
    "f16": np.float16,
    "i32": np.int32,
    "ui64": np.uint64,
}
BITS = {"i2": 2, "ui2": 2, "i4": 4, "ui4": 4}


def cast(source, target, shape, result, values):
    types = [
        f"tensor<{''.join(f'{size}x' for size in sizes)}{kind}>"
        for sizes, kind in ((shape, source), (result, target))
    ]
    text = f"""func.func @main(%x: {types[0]}) -> {types[1]} {{
      %y = stablehlo.bitcast_convert %x : ({types[0]}) -> {types[1]}
      return %y : {types[1]}
    }}"""
    return hlo.compile(text, device="cpu")(values)[0]


def bits(array, kind):
    """Return all bits in order, beginning with the lowest bit of the first element."""
    count = BITS.get(kind, 8 * array.dtype.itemsize)
    if kind in BITS:
        numbers = array.astype(np.int8).view(np.uint8)
    else:
        numbers = array.view(f"u{array.dtype.itemsize}")
    return [int(each) >> bit & 1 for each in numbers.reshape(-1) for bit in range(count)]


@pytest.mark.parametrize(
    ("narrow", "wide", "count"),
    [("i4", "i8", 2), ("ui4", "i32", 8), ("i2", "ui8", 4), ("ui2", "f16", 8), ("i4", "ui64", 16)],
)
def test_bitcast_packs_and_unpacks_narrow_integers(narrow, wide, count):
    random = np.random.default_rng(3)
    ends = (-(2 ** (BITS[narrow] - 1)), 2 ** (BITS[narrow] - 1))
    low, high = ends if narrow[0] == "i" else (0, 2 ** BITS[narrow])
    few = random.integers(low, high, (5, count)).astype(NUMPY[narrow])
    packed = cast(narrow, wide, (5, count), (5,), few)
    assert bits(packed, wide) == bits(few, narrow)
    again = cast(wide, narrow, (5,), (5, count), packed)
    np.testing.assert_array_equal(again.astype(int), few.astype(int))


@pytest.mark.parametrize(
    ("wide", "narrow", "count"),
    [
        ("f64", "i32", 2),
        ("f64", "f16", 4),
        ("complex<f32>", "complex<f32>", 1),
        ("complex<f64>", "complex<f32>", 2),
        ("complex<f64>", "complex<f64>", 1),
    ],
)
def test_bitcast_keeps_the_bytes_of_doubles_and_complex_numbers(wide, narrow, count):
    kinds = [ELEMENT_TYPES[each].storage for each in (wide, narrow)]
    given = np.random.default_rng(1).integers(0, 256, (3, kinds[0].itemsize), np.uint8)
    shape = (3, count) if count > 1 else (3,)
    few = cast(wide, narrow, (3,), shape, given.view(kinds[0])[:, 0])
    assert few.tobytes() == given.tobytes()
    again = cast(narrow, wide, shape, (3,), few)
    assert again.tobytes() == given.tobytes()


def test_as_many_bits_with_and_without_sign():
    given = np.arange(-8, 8).astype(ml_dtypes.int4)
    found = cast("i4", "ui4", (16,), (16,), given)
    np.testing.assert_array_equal(found.astype(int), np.arange(-8, 8) % 16)
    back = cast("ui4", "i4", (16,), (16,), found)
    np.testing.assert_array_equal(back.astype(int), np.arange(-8, 8))
    other = cast("ui4", "i2", (16,), (16, 2), found)
    assert bits(other, "i2") == bits(given, "i4")


def test_cast_of_packed_bools_is_refused():
    with pytest.raises(Unsupported, match="expected integers or floats, got i1"):
        cast("i1", "i8", (8,), (), np.ones(8, bool))
