"""The first elements of a sort are selected, without a sort of the others."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable
from metalbench.hlo.runtime.plan import build_plan


def write_selection(shape, axis, count, *, start=0, direction="GT"):
    kind, numbers = (f"tensor<{'x'.join(map(str, shape))}x{each}>" for each in ("f32", "i32"))
    result = list(shape)
    result[axis] = count
    first, second = (f"tensor<{'x'.join(map(str, result))}x{each}>" for each in ("f32", "i32"))
    ranges = ", ".join(
        f"{start}:{start + count}" if each == axis else f"0:{size}"
        for each, size in enumerate(shape)
    )
    return f"""func.func @main(%x: {kind}) -> ({first}, {second}) {{
      %i = stablehlo.iota dim = {axis} : {numbers}
      %s:2 = "stablehlo.sort"(%x, %i) ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
          %c = stablehlo.compare {direction}, %a, %b, TOTALORDER
            : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
      }}) {{dimension = {axis} : i64, is_stable = true}}
        : ({kind}, {numbers}) -> ({kind}, {numbers})
      %v = stablehlo.slice %s#0 [{ranges}] : ({kind}) -> {first}
      %w = stablehlo.slice %s#1 [{ranges}] : ({numbers}) -> {second}
      return %v, %w : {first}, {second} }}"""


CASES = [((50,), 0, 5), ((9000,), 0, 8), ((3, 2000), 1, 64), ((700, 5), 0, 1), ((2, 257, 3), 1, 7)]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("direction", ["GT", "LT"])
@pytest.mark.parametrize(("shape", "axis", "count"), CASES, ids=str)
def test_selections_are_stable(shape, axis, count, direction, device):
    plan = build_plan(
        import_program(write_selection(shape, axis, count, direction=direction)), 2, device=device
    )
    names = {each.name.rpartition("_")[0] for each in plan.iterate_kernels()}
    assert "top_k" in names
    assert "sort" not in names
    # Many are equal; some are NaN, and zeros of both signs.
    x = np.random.default_rng(5).integers(-9, 9, shape).astype(np.float32)
    x.reshape(-1)[::17] = np.nan
    x.reshape(-1)[1::17] = -0.0
    found, places = Executable(plan, device="cpu")(x)
    bits = x.view(np.int32)
    ordered = np.where(bits < 0, bits ^ 0x7FFFFFFF, bits).astype(np.int64)
    order = np.argsort(-ordered if direction == "GT" else ordered, axis, kind="stable")
    expected = np.take(order, range(count), axis)
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(found, np.take_along_axis(x, expected, axis))


@pytest.mark.parametrize("options", [{"start": 3}, {"count": 30}], ids=["later part", "most"])
def test_other_slices_need_a_sort(options):
    text = write_selection((40,), 0, options.get("count", 4), start=options.get("start", 0))
    names = {each.name for each in build_plan(import_program(text), 2).iterate_kernels()}
    assert any(each.startswith("sort") for each in names)


SCATTER = """func.func @main(%x: tensor<50x4xf32>, %i: tensor<9x1xi32>, %u: tensor<9x4xf32>)
    -> tensor<50x4xf32> {
  %y = stablehlo.add %x, %x : tensor<50x4xf32>
  %r = "stablehlo.scatter"(%y, %i, %u) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<50x4xf32>, tensor<9x1xi32>, tensor<9x4xf32>) -> tensor<50x4xf32>
  return %r : tensor<50x4xf32> }"""


def test_scatter_updates_in_place():
    plan = build_plan(import_program(SCATTER), 2, device="cpu")
    (scatter,) = [each for each in plan.steps if each.operation.name == "scatter"]
    assert scatter.updated is not None
    assert len(scatter.kernels) == 1
    program = Executable(plan, device="cpu")
    random = np.random.default_rng(6)
    x, u = (random.normal(size=(each, 4)).astype(np.float32) for each in (50, 9))
    i = random.integers(-2, 52, (9, 1)).astype(np.int32)
    expected = 2 * x
    for row, update in zip(i[:, 0], u, strict=True):
        if 0 <= row < 50:
            expected[row] += update
    for _ in range(2):
        np.testing.assert_allclose(program(x, i, u)[0], expected, rtol=1e-6)
    # The sum, and the argument: the result has the memory of the sum.
    assert program.queue.peak_bytes < 3 * 1024
