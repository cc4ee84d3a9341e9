"""Attention that is written in plain operations becomes one kernel."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from metalbench import hlo
from metalbench.cli import main
from metalbench.hlo.passes import row_fusion as pass_
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.plan import build_plan


@pytest.fixture
def everywhere(monkeypatch):
    """Use attention kernels on the cpu device too."""
    monkeypatch.setattr(pass_, "CPU_MAX_FUSED_ROWS", 1 << 30)


def attention(batch, queries, keys, dims, *, causal=False, returns="%o"):
    full, one = f"tensor<{batch}x{queries}x{keys}xf32>", f"tensor<{batch}x{queries}xf32>"
    q, k = f"tensor<{batch}x{queries}x{dims}xf32>", f"tensor<{batch}x{keys}x{dims}xf32>"
    at = f"tensor<{batch}x{queries}x{keys}xi32>"
    results = ", ".join({"%o": q, "%p": full, "%s": full}[each] for each in returns.split(", "))
    mask = f"""
      %i = stablehlo.iota dim = 1 : {at}
      %j = stablehlo.iota dim = 2 : {at}
      %seen = stablehlo.compare GE, %i, %j : ({at}, {at}) -> tensor<{batch}x{queries}x{keys}xi1>
      %never = stablehlo.constant dense<0xFF800000> : {full}
      %t = stablehlo.select %seen, %s, %never : tensor<{batch}x{queries}x{keys}xi1>, {full}"""
    return f"""func.func @main(%q: {q}, %k: {k}, %v: {k}) -> ({results}) {{
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
        : ({q}, {k}) -> {full}
      {mask if causal else f"%t = stablehlo.add %s, %s : {full}"}
      %m = stablehlo.reduce(%t init: %low) applies stablehlo.maximum across dimensions = [2]
        : ({full}, tensor<f32>) -> {one}
      %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ({one}) -> {full}
      %d = stablehlo.subtract %t, %mb : {full}
      %e = stablehlo.exponential %d : {full}
      %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2]
        : ({full}, tensor<f32>) -> {one}
      %zb = stablehlo.broadcast_in_dim %z, dims = [0, 1] : ({one}) -> {full}
      %p = stablehlo.divide %e, %zb : {full}
      %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : ({full}, {k}) -> {q}
      return {returns} : {results}
    }}"""


def kernels(text):
    return [
        each.name.rpartition("_")[0]
        for each in build_plan(import_program(text), 3).iterate_kernels()
    ]


def draw_operands(batch, queries, keys, dims):
    generator = np.random.default_rng(0)
    shapes = [(batch, queries, dims), (batch, keys, dims), (batch, keys, dims)]
    return [generator.normal(size=each).astype("f4") / 2 for each in shapes]


def test_attention_is_not_fused_if_it_is_slower(tmp_path):
    text = attention(2, 5, 40, 8)
    path = tmp_path / "attention.mlir"
    path.write_text(text)
    program = hlo.compile(text, level=3, device="cpu")
    made = [each.name.rpartition("_")[0] for each in program.executable.plan.iterate_kernels()]
    assert made == ["dot_general", "rows", "dot_general"]
    for device, fused in (("cpu", False), ("metal", True), ("cuda", True)):
        arguments = ["hlo", "compile", str(path), "-O", "3", "--device", device]
        answer = CliRunner().invoke(main, arguments)
        assert answer.exit_code == 0, answer.output
        assert ("kernel void attention_" in answer.output) is fused


def test_attention_of_one_query_is_one_kernel():
    text = attention(2, 1, 40, 8)
    program = hlo.compile(text, level=3, device="cpu")
    assert [each.name for each in program.executable.plan.iterate_kernels()] == ["attention_1"]
    given = draw_operands(2, 1, 40, 8)
    (plain,), (made,) = hlo.compile(text, level=0, device="cpu")(*given), program(*given)
    np.testing.assert_allclose(made, plain, 1e-5, 1e-5)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", [(2, 5, 40, 8), (1, 3, 1100, 70)])
def test_fused_attention_is_one_kernel_and_correct(sizes, causal):
    text = attention(*sizes, causal=causal)
    assert kernels(text) == ["attention"]
    q, k, v = draw_operands(*sizes)
    (found,) = hlo.compile(text, level=3, device="cpu")(q, k, v)
    scores = np.einsum("bqd,bkd->bqk", q.astype("f8"), k)
    seen = np.tri(*scores.shape[1:], dtype=bool) | (not causal)
    scores = np.where(seen, scores * (1 if causal else 2), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(found, weights @ v, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("returns", ["%o, %p", "%o, %s"])
def test_used_scores_and_weights_are_written(returns):
    text, arguments = attention(2, 5, 40, 8, returns=returns), draw_operands(2, 5, 40, 8)
    assert "attention" not in kernels(text)
    for got, wanted in zip(
        *(hlo.compile(text, level=level, device="cpu")(*arguments) for level in (3, 0)), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_longer_rows_of_scores_stay_in_memory():
    assert kernels(attention(1, 2, 2100, 8)) == ["dot_general", "rows", "dot_general"]


@pytest.mark.usefixtures("everywhere")
def test_weights_on_the_right_of_the_product_give_a_transposed_result():
    text = attention(2, 5, 40, 8).replace(
        """stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : (tensor<2x5x40xf32>, tensor<2x40x8xf32>) -> tensor<2x5x8xf32>""",
        """stablehlo.dot_general %v, %p, batching_dims = [0] x [0], contracting_dims = [1] x [2]
        : (tensor<2x40x8xf32>, tensor<2x5x40xf32>) -> tensor<2x8x5xf32>""",
    )
    text = text.replace("-> (tensor<2x5x8xf32>)", "-> (tensor<2x8x5xf32>)")
    text = text.replace("return %o : tensor<2x5x8xf32>", "return %o : tensor<2x8x5xf32>")
    assert kernels(text) == ["attention"]
    arguments = draw_operands(2, 5, 40, 8)
    found, expected = (
        hlo.compile(text, level=level, device="cpu")(*arguments)[0] for level in (3, 0)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("level", [2, 3])
def test_a_product_used_often_in_its_place_begins_an_epilogue(level):
    program = """
    func.func @main(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
      %1 = stablehlo.multiply %0, %0 : tensor<4x3xf32>
      %2 = stablehlo.tanh %1 : tensor<4x3xf32>
      %3 = stablehlo.multiply %0, %2 : tensor<4x3xf32>
      return %3 : tensor<4x3xf32>
    }"""
    made = list(build_plan(import_program(program), level).iterate_kernels())
    assert [each.name for each in made] == ["multiply_1"]
    generator = np.random.default_rng(0)
    a, b = (generator.normal(size=each).astype("f4") for each in ((4, 5), (5, 3)))
    (found,) = hlo.compile(program, level=level, device="cpu")(a, b)
    np.testing.assert_allclose(found, (a @ b) * np.tanh((a @ b) ** 2), rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("everywhere")
def test_heads_are_stored_contiguously_by_the_attention_kernel():
    """The values are read from the operand's buffer with any order of its axes."""
    batch, queries, keys, dims = 3, 5, 40, 8
    of_keys, turned = f"tensor<{batch}x{keys}x{dims}xf32>", f"tensor<{keys}x{batch}x{dims}xf32>"
    out, moved = f"tensor<{batch}x{queries}x{dims}xf32>", f"tensor<{queries}x{batch}x{dims}xf32>"
    flat = f"tensor<{queries}x{batch * dims}xf32>"
    text = attention(batch, queries, keys, dims)
    text = text.replace(f"%k: {of_keys}", f"%kt: {turned}").replace(
        f") -> ({out})", f") -> ({flat})"
    )
    text = text.replace(
        "%low =",
        f"%k = stablehlo.transpose %kt, dims = [1, 0, 2] : ({turned}) -> {of_keys}\n%low =",
    )
    text = text.replace(
        f"return %o : {out}",
        f"""%turned = stablehlo.transpose %o, dims = [1, 0, 2] : ({out}) -> {moved}
        %flat = stablehlo.reshape %turned : ({moved}) -> {flat}
        return %flat : {flat}""",
    )
    assert kernels(text) == ["attention"]
    q, k, v = draw_operands(batch, queries, keys, dims)
    plain, fused = (
        hlo.compile(text, level=level, device="cpu")(q, k.transpose(1, 0, 2).copy(), v)[0]
        for level in (0, 3)
    )
    np.testing.assert_allclose(fused, plain, rtol=1e-5, atol=1e-6)
