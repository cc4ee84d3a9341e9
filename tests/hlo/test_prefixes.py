"""Prefix reductions are recognised, and computed in linear time with the interpreter's results."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench.hlo.ir import Operation
from metalbench.hlo.passes.prefix_reductions import MIN_LENGTH, find_prefix_axis
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable
from metalbench.hlo.runtime.plan import build_plan

REGIONS = {
    "add": (0.0, np.add),
    "maximum": ("0xFF800000", np.maximum),
    "multiply": (1.0, np.multiply),
}


def write_windows(shape, axis, *, reverse=False, operation="add", window=None, low=None):
    size = shape[axis]
    kind = f"tensor<{'x'.join(map(str, shape))}xf32>"
    sizes = [size if each == axis else 1 for each in range(len(shape))]
    if window is not None:
        sizes[axis] = window
    before = (0 if reverse else size - 1) if low is None else low
    pads = [[0, 0] for _ in shape]
    pads[axis] = [before, sizes[axis] - 1 - before]
    initial = REGIONS[operation][0]
    return f"""func.func @main(%x: {kind}) -> {kind} {{
      %z = stablehlo.constant dense<{initial}> : tensor<f32>
      %r = "stablehlo.reduce_window"(%x, %z) ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %c = stablehlo.{operation} %a, %b : tensor<f32>
          stablehlo.return %c : tensor<f32>
      }}) {{window_dimensions = array<i64: {", ".join(map(str, sizes))}>,
           padding = dense<{pads}> : tensor<{len(shape)}x2xi64>}}
        : ({kind}, tensor<f32>) -> {kind}
      return %r : {kind} }}"""


def accumulate(x, axis, reverse, operation):
    flipped = np.flip(x, axis) if reverse else x
    found = REGIONS[operation][1].accumulate(flipped.astype(np.float64), axis)
    return np.flip(found, axis) if reverse else found


SHAPES = [((32,), 0), ((1000,), 0), ((40_000,), 0), ((3, 700), 1), ((700, 3), 0), ((2, 333, 5), 1)]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("operation", REGIONS)
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_prefixes_are_numpys(shape, axis, reverse, operation, device):
    text = write_windows(shape, axis, reverse=reverse, operation=operation)
    plan = build_plan(import_program(text), 2, device=device)
    assert all(each.name.startswith("prefix") for each in plan.iterate_kernels())
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    if operation == "multiply":
        x = np.exp(x / 30).astype(np.float32)
    (found,) = Executable(plan, device="cpu")(x)
    expected = accumulate(x, axis, reverse, operation)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_several_results_have_one_region():
    # The first largest element so far, and its place.
    text = """func.func @main(%x: tensor<500xf32>, %i: tensor<500xi32>)
        -> (tensor<500xf32>, tensor<500xi32>) {
      %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %n = stablehlo.constant dense<-1> : tensor<i32>
      %r:2 = "stablehlo.reduce_window"(%x, %i, %z, %n) ({
        ^bb0(%a: tensor<f32>, %p: tensor<i32>, %b: tensor<f32>, %q: tensor<i32>):
          %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %d = stablehlo.select %c, %a, %b : tensor<i1>, tensor<f32>
          %e = stablehlo.select %c, %p, %q : tensor<i1>, tensor<i32>
          stablehlo.return %d, %e : tensor<f32>, tensor<i32>
      }) {window_dimensions = array<i64: 500>, padding = dense<[[499, 0]]> : tensor<1x2xi64>}
        : (tensor<500xf32>, tensor<500xi32>, tensor<f32>, tensor<i32>)
          -> (tensor<500xf32>, tensor<500xi32>)
      return %r#0, %r#1 : tensor<500xf32>, tensor<500xi32> }"""
    x = np.random.default_rng(2).integers(0, 60, 500).astype(np.float32)
    largest = np.maximum.accumulate(x)
    for device in ("cpu", "cuda"):
        plan = build_plan(import_program(text), 2, device=device)
        found = Executable(plan, device="cpu")(x, np.arange(500, dtype=np.int32))
        np.testing.assert_array_equal(found[0], largest)
        np.testing.assert_array_equal(found[1], [np.argmax(x[: n + 1]) for n in range(500)])


@pytest.mark.parametrize(
    "options",
    [{"window": 20, "low": 19}, {"low": 50}, {"window": 99, "low": 98}],
    ids=["short window", "window from the middle", "window short by one"],
)
def test_other_windows_are_not_prefixes(options):
    text = write_windows((100,), 0, **options)
    block = import_program(text)
    (windows,) = [each for each in block.operations if each.name == "reduce_window"]
    assert find_prefix_axis(windows) is None
    plan = build_plan(block, 2, device="cpu")
    x = np.arange(100, dtype=np.float32)
    (found,) = Executable(plan, device="cpu")(x)
    (right,) = Executable(import_program(text), level=0, device="cpu")(x)
    np.testing.assert_allclose(found, right)


def test_short_lines_stay_windows():
    text = write_windows((MIN_LENGTH - 1,), 0)
    (windows,) = [each for each in import_program(text).operations if each.name == "reduce_window"]
    assert isinstance(windows, Operation)
    assert find_prefix_axis(windows) is None
