"""Partial reductions: numbers of kernels and threads, and unchanged results."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import hlo
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.plan import build_plan

SUM = """
func.func @main(%x: tensor<SHAPExf32>) -> tensor<RESULTf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.multiply %x, %x : tensor<SHAPExf32>
  %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [AXES]
    : (tensor<SHAPExf32>, tensor<f32>) -> tensor<RESULTf32>
  return %s : tensor<RESULTf32>
}"""
# An ordered reduction of pairs: its result is the first number of the first pair, and the last
# number of the last pair.
IN_ORDER = """
func.func @main(%a: tensor<4096xi32>, %b: tensor<4096xi32>) -> (tensor<i32>, tensor<i32>) {
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %r:2 = stablehlo.reduce(%a init: %none), (%b init: %none) across dimensions = [0]
    : (tensor<4096xi32>, tensor<4096xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    reducer(%a1: tensor<i32>, %a2: tensor<i32>) (%b1: tensor<i32>, %b2: tensor<i32>) {
      %n = stablehlo.constant dense<-1> : tensor<i32>
      %p = stablehlo.compare EQ, %a1, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %q = stablehlo.compare EQ, %b2, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %f = stablehlo.select %p, %a2, %a1 : tensor<i1>, tensor<i32>
      %l = stablehlo.select %q, %b1, %b2 : tensor<i1>, tensor<i32>
      stablehlo.return %f, %l : tensor<i32>, tensor<i32>
    }
  return %r#0, %r#1 : tensor<i32>, tensor<i32>
}"""


def kernels(shape, axes, level=2):
    result = [str(size) for axis, size in enumerate(shape) if axis not in axes]
    text = SUM.replace("SHAPE", "x".join(map(str, shape))).replace("AXES", str([*axes])[1:-1])
    text = text.replace("RESULT", "".join(f"{each}x" for each in result))
    return text, list(build_plan(import_program(text), level).iterate_kernels())


@pytest.mark.parametrize(
    ("shape", "axes", "threads"),
    [
        ((65536,), (0,), [512, 1]),
        ((4, 30000), (1,), [4 * 300, 4]),
        ((128, 64), (0, 1), [128, 1]),
        ((3, 40, 50), (0, 1, 2), [1]),  # three rows are too few parts
        ((4099,), (0,), [1]),  # a prime
        ((500,), (0,), [1]),
        ((300, 1024), (1,), [300]),
    ],
)
def test_many_elements_are_reduced_by_parts_to_few(shape, axes, threads):
    text, found = kernels(shape, axes)
    assert [each.threads for each in found] == threads
    assert len(kernels(shape, axes, level=0)[1]) == 2
    x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    expected = np.square(x.astype(np.float64)).sum(axis=axes)
    np.testing.assert_allclose(hlo.compile(text)(x)[0], expected, rtol=1e-5)


def test_elements_stay_in_their_order():
    (count,) = {len(list(build_plan(import_program(IN_ORDER), 2).iterate_kernels()))}
    assert count == 2
    a, b = np.arange(4096, dtype=np.int32), np.arange(4096, dtype=np.int32)[::-1].copy()
    a[0] = b[-1] = -1
    first, last = hlo.compile(IN_ORDER)(a, b)
    assert (first, last) == (1, 1)
