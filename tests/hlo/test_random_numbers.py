"""`rng`: numbers in the interval, with the moments of the distribution, the same in every run."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from metalbench import hlo
from metalbench.errors import Unsupported

COUNT = 1 << 14


def draw(element, low, high, *, distribution="UNIFORM", shape=(COUNT,)):
    """Return the results of two operations with the same parameters."""
    sizes = "".join(f"{each}x" for each in shape)
    scalar, whole = f"tensor<{element}>", f"tensor<{sizes}{element}>"
    dense = f"dense<[{', '.join(map(str, shape))}]>" if shape else "dense<>"
    dims = f"tensor<{len(shape)}xi64>"
    text = f"""func.func @main(%a: {scalar}, %b: {scalar}) -> ({whole}, {whole}) {{
      %n = stablehlo.constant {dense} : {dims}
      %x = stablehlo.rng %a, %b, %n, distribution = {distribution}
        : ({scalar}, {scalar}, {dims}) -> {whole}
      %y = stablehlo.rng %a, %b, %n, distribution = {distribution}
        : ({scalar}, {scalar}, {dims}) -> {whole}
      return %x, %y : {whole}, {whole} }}"""
    program = hlo.compile(text, device="cpu", level=3)
    kind = program.executable.inputs[0].element.numpy
    given = [np.asarray(each).astype(kind) for each in (low, high)]
    found = program(*given)
    # Every run and every level draws the same numbers.
    for other in (program, hlo.compile(text, device="cpu", level=0)):
        for again, first in zip(other(*given), found, strict=True):
            np.testing.assert_array_equal(again, first)
    return found


@pytest.mark.parametrize(
    ("element", "low", "high"),
    [
        ("f32", 0, 1),
        ("f32", -3.5, 2),
        ("f16", 1, 2),
        ("bf16", -1, 1),
        ("f64", 10, 1e6),
        ("f32", -3e38, 3e38),
    ],
)
def test_uniform_floats_are_uniform_in_the_interval(element, low, high):
    x, y = (each.astype(np.float64) for each in draw(element, low, high))
    assert x.min() >= low
    assert x.max() < high
    assert not np.array_equal(x, y)
    # Tests of 2^14 numbers with a chance of 1e-6 of failing; the numbers never change.
    if element in ("f32", "f64"):
        for each in (x, y):
            fractions = each / high - low / high
            assert stats.kstest(fractions / (1 - low / high), "uniform").pvalue > 1e-6
    correlation = np.corrcoef(x / abs(high), y / abs(high))[0, 1]
    assert abs(correlation) < 5 / np.sqrt(COUNT)


@pytest.mark.parametrize(
    ("element", "low", "high"),
    [
        ("i32", -5, 7),
        ("ui8", 3, 250),
        ("i8", -128, 127),
        ("i64", -(2**62), 2**62),
        ("ui32", 0, 2**32 - 1),
        ("ui64", 5, 6),
        ("i32", -(2**31), 2**31 - 1),
    ],
)
def test_uniform_integers_are_uniform_in_the_interval(element, low, high):
    x, _ = draw(element, low, high)
    assert int(x.min()) >= low
    assert int(x.max()) < high
    if high - low <= 256:
        counts = np.bincount(x.astype(np.int64) - low, minlength=high - low)
        assert counts.size == high - low
        assert counts.size == 1 or stats.chisquare(counts).pvalue > 1e-6
    else:
        fractions = (x.astype(np.float64) - low) / (float(high) - float(low))
        assert stats.kstest(fractions, "uniform").pvalue > 1e-6


@pytest.mark.parametrize(("element", "mean", "deviation"), [("f32", 0, 1), ("f64", -3, 0.5)])
def test_normal_numbers_are_normal(element, mean, deviation):
    x, y = draw(element, mean, deviation, distribution="NORMAL")
    for each in (x, y):
        assert stats.kstest((each - mean) / deviation, "norm").pvalue > 1e-6
    assert abs(np.corrcoef(x, y)[0, 1]) < 5 / np.sqrt(COUNT)


def test_normal_numbers_of_small_floats_have_the_moments():
    x, _ = draw("bf16", 2, 0.25, distribution="NORMAL")
    numbers = x.astype(np.float64)
    assert abs(numbers.mean() - 2) < 0.02
    assert abs(numbers.std() - 0.25) < 0.02


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (3, 5, 2)])
def test_shapes_of_any_rank_are_drawn(shape):
    x, _ = draw("f32", 0, 1, shape=shape)
    assert x.shape == shape


LOOP = """func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %n = stablehlo.constant dense<> : tensor<0xi64>
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%s: tensor<f32>):
    %p = stablehlo.compare LT, %s, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%s: tensor<f32>):
    %r = stablehlo.rng %s, %x, %n, distribution = UNIFORM
      : (tensor<f32>, tensor<f32>, tensor<0xi64>) -> tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32> }"""


def test_numbers_in_loops_are_refused():
    with pytest.raises(Unsupported, match=r"\[stablehlo.rng\].*each iteration"):
        hlo.compile(LOOP, device="cpu")


def test_random_booleans_are_refused():
    with pytest.raises(Unsupported, match=re.escape("expected floats or integers, got tensor<")):
        draw("i1", 0, 1)
