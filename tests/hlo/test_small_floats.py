"""Floats of eight bits and fewer, against ml_dtypes, which rounds as XLA does."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import hlo
from metalbench.hlo.ir import ELEMENT_TYPES

TYPES = [name for name, each in ELEMENT_TYPES.items() if each.is_small_float]
ALL = pytest.mark.parametrize("name", TYPES)


def list_numbers(name):
    """Return every number of a type."""
    element = ELEMENT_TYPES[name]
    return np.arange(2**element.bits, dtype=np.uint8).view(element.storage)


def round_to(array, name):
    with np.errstate(all="ignore"):
        return array.astype(np.float32).astype(ELEMENT_TYPES[name].storage)


def assert_same(got, wanted):
    """Compare numbers bit by bit, except that any NaN equals any other."""
    both = np.isnan(got.astype(np.float32)) & np.isnan(wanted.astype(np.float32))
    different = (got.view(np.uint8) != wanted.view(np.uint8)) & ~both
    assert not different.any(), (np.nonzero(different)[0][:5], got[different], wanted[different])


def convert(array, source, target):
    shape = f"tensor<{array.size}x"
    text = f"""func.func @main(%x: {shape}{source}>) -> {shape}{target}> {{
      %0 = stablehlo.convert %x : ({shape}{source}>) -> {shape}{target}>
      return %0 : {shape}{target}>
    }}"""
    return hlo.compile(text, device="cpu")(array)[0]


def list_sizes(name):
    """Return the finite absolute values of a type in order."""
    values = list_numbers(name).astype(np.float32)
    return np.unique(np.abs(values[np.isfinite(values)]))


def list_middles(name):
    """Return the numbers in the middle of two numbers, which float holds exactly."""
    sizes = list_sizes(name).astype(np.float64)
    return ((sizes[1:] + sizes[:-1]) / 2).astype(np.float32)


def draw_near_ties(name):
    """Return floats in the middle of two numbers and next to it, out of range, and at random."""
    sizes, middles = list_sizes(name), list_middles(name)
    with np.errstate(over="ignore"):
        beyond = sizes[-1] * np.linspace(1, 2, 65, dtype=np.float32)
    words = np.random.default_rng(0).integers(0, 2**32, 2000, dtype=np.uint32)
    rest = [np.float32([np.inf, np.nan, 1e-45, 3e38]), np.abs(words.view(np.float32))]
    near = [np.nextafter(middles, np.float32(end)) for end in (0, np.inf)]
    found = np.concatenate([sizes, middles, *near, beyond, *rest])
    return np.concatenate([found, -found])


@ALL
def test_conversions_are_those_of_ml_dtypes(name):
    every = list_numbers(name)
    np.testing.assert_array_equal(convert(every, name, "f32"), every.astype(np.float32))
    x = draw_near_ties(name)
    if name == "f4E2M1FN":
        # XLA's -0 for all NaNs; that of ml_dtypes depends on the sign.
        assert convert(np.float32([np.nan, -np.nan]), "f32", name).view(np.uint8).tolist() == [8, 8]
        x = x[~np.isnan(x)]
    assert_same(convert(x, "f32", name), round_to(x, name))


@ALL
def test_doubles_are_rounded_once(name):
    # A rounding to float, to the middle, would lose the side.
    middles = list_middles(name)
    x = np.concatenate([middles.astype(np.float64) * (1 + sign * 2.0**-40) for sign in (-1.0, 1.0)])
    near = [np.nextafter(middles, np.float32(end)) for end in (0, np.inf)]
    assert_same(convert(x, "f64", name), round_to(np.concatenate(near), name))


@ALL
@pytest.mark.parametrize("level", [0, 3])
def test_arithmetic_of_all_pairs_is_rounded_once(name, level):
    x, y = (each.ravel() for each in np.meshgrid(list_numbers(name), list_numbers(name)))
    type_, truth = f"tensor<{x.size}x{name}>", f"tensor<{x.size}xi1>"
    text = f"""func.func @main(%x: {type_}, %y: {type_})
        -> ({type_}, {type_}, {type_}, {type_}, {truth}) {{
      %0 = stablehlo.add %x, %y : {type_}
      %1 = stablehlo.multiply %x, %y : {type_}
      %2 = stablehlo.divide %x, %y : {type_}
      %3 = stablehlo.maximum %x, %y : {type_}
      %4 = stablehlo.compare LT, %x, %y : ({type_}, {type_}) -> {truth}
      return %0, %1, %2, %3, %4 : {type_}, {type_}, {type_}, {type_}, {truth}
    }}"""
    *found, less = hlo.compile(text, level=level, device="cpu")(x, y)
    a, b = x.astype(np.float32), y.astype(np.float32)
    with np.errstate(all="ignore"):
        wanted = [a + b, a * b, a / b, np.maximum(a, b)]
    for got, exact in zip(found, wanted, strict=True):
        # The sign of a zero, and of the NaN that becomes zero, is tested with the conversions.
        finite = ~np.isnan(exact) & (exact != 0)
        assert_same(got[finite], round_to(exact[finite], name))
    np.testing.assert_array_equal(less, a < b)


@ALL
@pytest.mark.parametrize("level", [0, 2, 3])
def test_products_reductions_and_sorts(name, level):
    finite = list_numbers(name)[np.isfinite(list_numbers(name).astype(np.float32))]
    finite = finite[np.abs(np.log2(np.abs(finite.astype(np.float32)) + 1e-9)) < 3]
    x = np.random.default_rng(0).choice(finite, (6, 40))
    type_ = f"tensor<6x40x{name}>"
    text = f"""
    func.func @main(%x: {type_}) -> (tensor<6x6xf32>, tensor<6x{name}>, {type_}, {type_}) {{
      %dot = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1]
        : ({type_}, {type_}) -> tensor<6x6xf32>
      %least = stablehlo.constant dense<1.25e-1> : tensor<{name}>
      %most = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1]
        : ({type_}, tensor<{name}>) -> tensor<6x{name}>
      %sorted = "stablehlo.sort"(%x) <{{dimension = 1 : i64}}> ({{
        ^bb0(%a: tensor<{name}>, %b: tensor<{name}>):
          %less = stablehlo.compare LT, %a, %b, TOTALORDER
            : (tensor<{name}>, tensor<{name}>) -> tensor<i1>
          stablehlo.return %less : tensor<i1>
      }}) : ({type_}) -> {type_}
      %back = stablehlo.reverse %x, dims = [1] : {type_}
      return %dot, %most, %sorted, %back : tensor<6x6xf32>, tensor<6x{name}>, {type_}, {type_}
    }}"""
    product, most, ordered, back = hlo.compile(text, level=level, device="cpu")(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(product, wide @ wide.T, rtol=1e-6, atol=1e-6)
    least = round_to(np.float32([0.125]), name).astype(np.float32)
    np.testing.assert_array_equal(most.astype(np.float32), np.maximum(wide.max(1), least))
    np.testing.assert_array_equal(ordered.astype(np.float32), np.sort(wide, axis=1))
    assert_same(back.ravel(), x[:, ::-1].ravel())


@ALL
def test_bits_are_kept_by_bitcasts_and_constants(name):
    element, every = ELEMENT_TYPES[name], list_numbers(name)
    bits, count = f"ui{element.bits}", every.size
    words = ", ".join(f"0x{each:X}" for each in range(count))
    text = f"""
    func.func @main(%x: tensor<{count}x{name}>)
        -> (tensor<{count}x{bits}>, tensor<{count}x{name}>, tensor<{count}x{name}>) {{
      %0 = stablehlo.bitcast_convert %x : (tensor<{count}x{name}>) -> tensor<{count}x{bits}>
      %1 = stablehlo.bitcast_convert %0 : (tensor<{count}x{bits}>) -> tensor<{count}x{name}>
      %2 = stablehlo.constant dense<[{words}]> : tensor<{count}x{name}>
      return %0, %1, %2 : tensor<{count}x{bits}>, tensor<{count}x{name}>, tensor<{count}x{name}>
    }}"""
    found, back, constant = hlo.compile(text, device="cpu")(every)
    assert found.astype(np.int64).tolist() == list(range(count))
    for each in (back, constant):
        np.testing.assert_array_equal(each.view(np.uint8), every.view(np.uint8))
