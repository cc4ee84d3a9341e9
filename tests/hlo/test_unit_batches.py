"""Products without their batch axis of one element, as JAX writes attention with one query."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import hlo
from metalbench.hlo.passes import row_fusion as pass_
from metalbench.hlo.passes.pipeline import run_passes
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.plan import build_plan

Q, K, ROW = "tensor<1x1x16xf32>", "tensor<1x64x16xf32>", "tensor<1x1x64xf32>"
ONE = "tensor<1x1xf32>"


def attention(behind="stablehlo.broadcast_in_dim %a, dims = [1, 2]", returns="%s"):
    """Return attention; `behind` restores the batch axis of the first product."""
    return f"""func.func @main(%q: {Q}, %k: {K}, %v: {K}) -> ({Q}, {ROW}) {{
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %q1 = stablehlo.reshape %q : ({Q}) -> tensor<1x16xf32>
      %k1 = stablehlo.reshape %k : ({K}) -> tensor<64x16xf32>
      %v1 = stablehlo.reshape %v : ({K}) -> tensor<64x16xf32>
      %a = stablehlo.dot_general %q1, %k1, contracting_dims = [1] x [1]
        : (tensor<1x16xf32>, tensor<64x16xf32>) -> tensor<1x64xf32>
      %s = {behind} : (tensor<1x64xf32>) -> {ROW}
      %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2]
        : ({ROW}, tensor<f32>) -> {ONE}
      %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ({ONE}) -> {ROW}
      %d = stablehlo.subtract %s, %mb : {ROW}
      %e = stablehlo.exponential %d : {ROW}
      %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2]
        : ({ROW}, tensor<f32>) -> {ONE}
      %zb = stablehlo.broadcast_in_dim %z, dims = [0, 1] : ({ONE}) -> {ROW}
      %p = stablehlo.divide %e, %zb : {ROW}
      %p1 = stablehlo.reshape %p : ({ROW}) -> tensor<1x64xf32>
      %o = stablehlo.dot_general %p1, %v1, contracting_dims = [1] x [0]
        : (tensor<1x64xf32>, tensor<64x16xf32>) -> tensor<1x16xf32>
      %y = stablehlo.broadcast_in_dim %o, dims = [1, 2] : (tensor<1x16xf32>) -> {Q}
      return %y, {returns} : {Q}, {ROW}
    }}"""


def only_the_first(program):
    whole = program.replace(f"-> ({Q}, {ROW})", f"-> {Q}")
    return whole.replace("return %y, %s", "return %y").replace(
        f": {Q}, {ROW}\n    }}", f": {Q}\n    }}"
    )


@pytest.mark.parametrize(
    "behind", ["stablehlo.broadcast_in_dim %a, dims = [1, 2]", "stablehlo.reshape %a"]
)
def test_attention_of_one_query_is_one_kernel_and_right(behind, monkeypatch):
    monkeypatch.setattr(pass_, "CPU_MAX_FUSED_ROWS", 1 << 30)
    program = only_the_first(attention(behind))
    names = [each.name for each in build_plan(import_program(program), 3).iterate_kernels()]
    assert [each.rpartition("_")[0] for each in names] == ["attention"]
    rng = np.random.default_rng(0)
    q, k, v = (
        rng.normal(size=each).astype("f4") for each in ((1, 1, 16), (1, 64, 16), (1, 64, 16))
    )
    weights = np.exp((scores := q @ k.swapaxes(1, 2)) - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    for level in (0, 2, 3):
        (found,) = hlo.compile(program, level=level, device="cpu")(q, k, v)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_product_with_other_uses_keeps_its_shape():
    """The scores are also a result, so the first product keeps its shape."""
    one = "tensor<1x64xf32>"
    program = attention(returns="%a").replace(f"{Q}, {ROW}", f"{Q}, {one}")
    block = import_program(program)
    run_passes(block, 3, "restore-unit-batches")
    products = [each for each in block.operations if each.name == "dot_general"]
    assert [str(each.results[0].type) for each in products] == [one, Q]
