"""Buffers are reused within a call and by the next one, and their old contents have no effect."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable

CHAIN = """
func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %a = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = stablehlo.dot_general %b, %b, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = stablehlo.dot_general %c, %c, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %d, %x : tensor<64x64xf32>, tensor<64x64xf32>
}"""
WHOLE = """
func.func @main(%x: tensor<6x6xf32>, %i: tensor<2x1xi32>) -> (tensor<6x6xf32>, tensor<6x6xf32>,
                                                            tensor<6x6xf32>) {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %p = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0]
    : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %l = "stablehlo.cholesky"(%p) {lower = true} : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %s = "stablehlo.sort"(%p) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }) {dimension = 1 : i64} : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %u = stablehlo.slice %s [0:2, 0:6] : (tensor<6x6xf32>) -> tensor<2x6xf32>
  %w = "stablehlo.scatter"(%p, %i, %u) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<6x6xf32>, tensor<2x1xi32>, tensor<2x6xf32>) -> tensor<6x6xf32>
  return %l, %s, %w : tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>
}"""
LOOP = """
func.func @main(%n: tensor<i32>, %x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r:3 = stablehlo.while(%i = %zero, %v = %y, %w = %x)
      : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>
    cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %j = stablehlo.add %i, %one : tensor<i32>
         %a = stablehlo.dot_general %v, %w, contracting_dims = [1] x [0]
           : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
         %b = stablehlo.dot_general %a, %y, contracting_dims = [1] x [0]
           : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
         stablehlo.return %j, %b, %v : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32> }
  %s = stablehlo.add %r#1, %y : tensor<4x4xf32>
  return %s, %r#2 : tensor<4x4xf32>, tensor<4x4xf32>
}"""


def poison(program):
    """Fill the free buffers with NaNs, and return their number."""
    free = program.queue.free_buffers
    for each in free:
        each.numpy("uint8")[:] = 0xFF
    return len(free)


def arguments(text, seed):
    random = np.random.default_rng(seed)
    if text is CHAIN:
        return [random.normal(size=(64, 64)).astype(np.float32) / 8]
    if text is WHOLE:
        return [random.normal(size=(6, 6)).astype(np.float32), np.array([[4], [1]], np.int32)]
    return [np.array(seed, np.int32), random.normal(size=(4, 4)).astype(np.float32) / 2]


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("text", [CHAIN, WHOLE, LOOP], ids=["chain", "whole", "loop"])
def test_no_result_depends_on_old_contents_of_a_buffer(text, level):
    program = Executable(import_program(text), level=level)
    expected = [program(*arguments(text, seed)) for seed in range(4)]
    for seed, before in enumerate(expected):
        assert poison(program)
        for found, known in zip(program(*arguments(text, seed)), before, strict=True):
            np.testing.assert_array_equal(found, known)


def test_a_chain_of_products_needs_no_more_than_it_is_at_twice():
    program = Executable(import_program(CHAIN))
    first = program(*arguments(CHAIN, 1))
    # Products alternate between two buffers; the argument has another.
    assert poison(program) == 3
    np.testing.assert_array_equal(program(*arguments(CHAIN, 1))[0], first[0])
    assert poison(program) == 3
    np.testing.assert_allclose(
        first[0], np.linalg.matrix_power(first[1].astype(float), 16), rtol=2e-3, atol=1e-4
    )
