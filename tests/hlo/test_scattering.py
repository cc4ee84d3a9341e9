"""Updates that cannot collide are parallel; updates that can collide keep their order."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import hlo
from metalbench.devices import DeviceKind
from metalbench.hlo.passes import lowering
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.plan import build_plan

# Halving the old value reveals any other order of the updates.
SCATTER = """
func.func @main(%o: tensor<OPERANDxf32>, %i: tensor<INDICESxi32>, %u: tensor<UPDATESxf32>)
    -> tensor<OPERANDxf32> {
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %r = "stablehlo.scatter"(%o, %i, %u) <{UNIQUE
    scatter_dimension_numbers = #stablehlo.scatter<NUMBERS>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %h = stablehlo.multiply %a, %half : tensor<f32>
      %s = stablehlo.add %h, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<OPERANDxf32>, tensor<INDICESxi32>, tensor<UPDATESxf32>) -> tensor<OPERANDxf32>
  return %r : tensor<OPERANDxf32>
}"""
ROWS = (
    "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
    "index_vector_dim = 1"
)
SHIFTED = "update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
BATCHED = (
    "update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], "
    "scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2"
)


def program(operand, indices, updates, numbers, unique=False):
    text = SCATTER.replace("UNIQUE", "unique_indices = true," if unique else "")
    text = text.replace("OPERAND", operand).replace("INDICES", indices)
    return text.replace("UPDATES", updates).replace("NUMBERS", numbers)


def threads(*arguments, **options):
    given = import_program(program(*arguments, **options))
    *_, last = build_plan(given, 2, device="cpu").iterate_kernels()
    return last.threads


def numbers(*shape):
    return np.random.default_rng(8).normal(size=shape).astype(np.float32)


@pytest.fixture(params=["whole", "divided"])
def parts(request, monkeypatch):
    """Return the number of parts by the number of updates that may collide."""
    if request.param == "whole":
        return lambda updates: 1
    monkeypatch.setattr(lowering, "find_kind", lambda name: DeviceKind(name=name))
    return lambda updates: max(
        (each for each in lowering.SCATTER_PARTS if 4 * each <= updates), default=1
    )


def test_rows_are_updated_in_order_with_a_thread_a_column(parts):
    shapes = "5x64", "40x1", "40x64", ROWS
    assert threads(*shapes) == 64 * parts(40)
    operand, updates = numbers(5, 64), numbers(40, 64)
    places = np.random.default_rng(9).integers(-2, 7, (40, 1)).astype(np.int32)
    (found,) = hlo.compile(program(*shapes), device="cpu")(operand, places, updates)
    expected = operand.copy()
    for (row,), values in zip(places, updates, strict=True):
        if 0 <= row < 5:
            expected[row] = expected[row] * np.float32(0.5) + values
    np.testing.assert_array_equal(found, expected)


def test_windows_that_a_start_shifts_are_updated_by_one_thread():
    shapes = "9", "6x1", "6x4", SHIFTED
    assert threads(*shapes) == 1
    operand, updates = numbers(9), numbers(6, 4)
    places = np.array([0, 2, 1, 5, 6, 3], np.int32)[:, None]
    (found,) = hlo.compile(program(*shapes), device="cpu")(operand, places, updates)
    expected = operand.copy()
    for (start,), values in zip(places, updates, strict=True):
        for k, value in enumerate(values):
            if start + k < 9:
                expected[start + k] = expected[start + k] * np.float32(0.5) + value
    np.testing.assert_array_equal(found, expected)


def test_elements_are_updated_in_order_by_threads_of_parts(parts):
    numbers_ = ROWS.replace("[1]", "[]", 1)
    shapes = "50", "333x1", "333", numbers_
    assert threads(*shapes) == parts(333)
    operand, updates = numbers(50), numbers(333)
    places = np.random.default_rng(9).integers(-2, 53, (333, 1)).astype(np.int32)
    (found,) = hlo.compile(program(*shapes), device="cpu")(operand, places, updates)
    expected = operand.copy()
    for (place,), value in zip(places, updates, strict=True):
        if 0 <= place < 50:
            expected[place] = expected[place] * np.float32(0.5) + value
    np.testing.assert_array_equal(found, expected)


def test_batches_are_updated_side_by_side():
    shapes = "3x5x2", "7x3x1", "7x3x2", BATCHED
    assert threads(*shapes) == 6
    operand, updates = numbers(3, 5, 2), numbers(7, 3, 2)
    places = np.random.default_rng(10).integers(0, 5, (7, 3, 1)).astype(np.int32)
    (found,) = hlo.compile(program(*shapes), device="cpu")(operand, places, updates)
    expected = operand.copy()
    for n in range(7):
        for b in range(3):
            row = expected[b, places[n, b, 0]]
            row[:] = row * np.float32(0.5) + updates[n, b]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("unique", [False, True])
def test_unique_indices_need_no_order(unique):
    shapes = "50", "40x1", "40", ROWS.replace("[1]", "[]", 1)
    assert threads(*shapes, unique=unique) == (40 if unique else 1)
    operand, updates = numbers(50), numbers(40)
    places = np.random.default_rng(11).permutation(50)[:40].astype(np.int32)
    run = hlo.compile(program(*shapes, unique=unique), device="cpu")
    (found,) = run(operand, places[:, None], updates)
    operand[places] = operand[places] * np.float32(0.5) + updates
    np.testing.assert_array_equal(found, operand)
