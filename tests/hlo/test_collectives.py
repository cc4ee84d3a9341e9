"""Collectives of one device are its own values."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench.errors import Unsupported
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable

T = "tensor<4x3xf32>"
SUM = """({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  })"""
GROUPS = "replica_groups = dense<0> : tensor<1x1xi64>"
COLLECTIVES = {
    "all_reduce": f'"stablehlo.all_reduce"(%y) {SUM} {{{GROUPS}}}',
    "reduce_scatter": (
        f'"stablehlo.reduce_scatter"(%y) {SUM} {{{GROUPS}, scatter_dimension = 0 : i64}}'
    ),
    "all_gather": f'"stablehlo.all_gather"(%y) {{{GROUPS}, all_gather_dim = 1 : i64}}',
    "all_to_all": (
        f'"stablehlo.all_to_all"(%y) {{{GROUPS}, split_dimension = 0 : i64, '
        "concat_dimension = 0 : i64, split_count = 1 : i64}"
    ),
    "collective_broadcast": f'"stablehlo.collective_broadcast"(%y) {{{GROUPS}}}',
    "collective_permute": (
        '"stablehlo.collective_permute"(%y) '
        "{source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}"
    ),
}


def run(line, result=T):
    text = f"""func.func @main(%x: {T}) -> {result} {{
      %y = stablehlo.add %x, %x : {T}
      %r = {line} : ({T}) -> {result}
      return %r : {result} }}"""
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    return x, Executable(import_program(text), device="cpu")(x)[0]


@pytest.mark.parametrize("name", COLLECTIVES)
def test_one_participant_has_its_own_values(name):
    x, found = run(COLLECTIVES[name])
    np.testing.assert_array_equal(found, 2 * x)


def test_a_permutation_without_a_source_gives_zeros():
    line = COLLECTIVES["collective_permute"].replace("[[0, 0]]", "").replace("<1x2x", "<0x2x")
    assert not run(line)[1].any()


@pytest.mark.parametrize("name", ["partition_id", "replica_id"])
def test_the_only_device_has_number_zero(name):
    text = f"""func.func @main() -> tensor<ui32> {{
      %r = stablehlo.{name} : tensor<ui32>
      return %r : tensor<ui32> }}"""
    (found,) = Executable(import_program(text), device="cpu")()
    assert (found, found.dtype) == (0, np.uint32)


def test_collectives_in_a_loop():
    text = f"""func.func @main(%x: {T}) -> {T} {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.constant dense<3> : tensor<i32>
      %y = "stablehlo.all_reduce"(%x) {SUM} {{{GROUPS}}} : ({T}) -> {T}
      %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, {T}
        cond {{ %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %p : tensor<i1> }}
        do {{ %j = stablehlo.add %i, %one : tensor<i32>
             %s = stablehlo.add %v, %y : {T}
             %w = "stablehlo.all_reduce"(%s) {SUM} {{{GROUPS}}} : ({T}) -> {T}
             stablehlo.return %j, %w : tensor<i32>, {T} }}
      return %r#1 : {T} }}"""
    x = np.ones((4, 3), np.float32)
    np.testing.assert_array_equal(Executable(import_program(text), device="cpu")(x)[0], 4 * x)


def test_several_participants_are_refused_by_name():
    two = "dense<[[0, 1]]> : tensor<1x2xi64>"
    line = COLLECTIVES["all_gather"].replace("dense<0> : tensor<1x1xi64>", two)
    with pytest.raises(Unsupported, match=r"\[stablehlo.all_gather\].*one device"):
        run(line, "tensor<4x6xf32>")
