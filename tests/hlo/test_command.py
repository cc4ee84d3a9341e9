"""``metalbench hlo``."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from metalbench.cli.group import main

PROGRAM = """func.func @main(%a: tensor<4xf32>, %b: tensor<4xbf16>)
    -> (tensor<4xf32>, tensor<4xbf16>) {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  %2 = stablehlo.negate %b : tensor<4xbf16>
  return %1, %2 : tensor<4xf32>, tensor<4xbf16>
}"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.mlir"
    path.write_text(PROGRAM)
    return path


def invoke(*arguments):
    return CliRunner().invoke(main, ["hlo", *(str(each) for each in arguments)])


def test_a_run_reads_and_writes_arrays(model, tmp_path):
    import ml_dtypes

    inputs, output = tmp_path / "in.npz", tmp_path / "out.npz"
    np.savez(inputs, arg0=np.arange(4, dtype="f4"), arg1=np.ones(4, ml_dtypes.bfloat16))
    answer = invoke("run", model, "--inputs", inputs, "--output", output, "--device", "cpu")
    assert answer.exit_code == 0, answer.output
    assert "result0: tensor<4xf32>\n[-0. -2. -4. -6.]" in answer.output
    with np.load(output) as found:
        assert found["result0"].tolist() == [0, -2, -4, -6]
        assert found["result1"].view(ml_dtypes.bfloat16).tolist() == [-1] * 4


def test_random_arguments_are_the_same_for_a_seed(model):
    first, second, other = (
        invoke("run", model, "--device", "cpu", "--seed", seed).output for seed in (1, 1, 2)
    )
    assert first == second != other


def test_inputs_with_other_names_are_refused(model, tmp_path):
    np.savez(tmp_path / "in.npz", x=np.zeros(4))
    answer = invoke("run", model, "--inputs", tmp_path / "in.npz")
    assert answer.exit_code == 2
    assert "in.npz: expected arg0, arg1, got x" in answer.output


def test_compile_shows_kernels_graph_and_plan(model):
    assert "kernel void negate_1(" in invoke("compile", model).output
    assert "= negate(%" in invoke("compile", model, "--emit", "graph").output
    plan = invoke("compile", model, "--emit", "plan", "-O", "0").output.splitlines()
    assert [each.partition("_")[0] for each in plan] == ["add", "negate", "negate"]
    assert plan[0] == "add_1: 4 threads, (tensor<4xf32>) -> (tensor<4xf32>)"


def test_an_invalid_program_is_refused_with_its_line(tmp_path):
    path = tmp_path / "wrong.mlir"
    path.write_text("func.func @main() {\n  nonsense\n}")
    answer = invoke("run", path)
    assert answer.exit_code == 2
    assert "wrong.mlir: not a StableHLO program" in answer.output
    assert '"-":2:3' in answer.output


def test_the_graph_after_a_pass_is_shown_as_text_and_as_a_picture(tmp_path):
    path = tmp_path / "sums.mlir"
    path.write_text("""func.func @main(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<4x64xf32>, tensor<f32>) -> tensor<4xf32>
      %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4xf32>) -> tensor<4x64xf32>
      %r = stablehlo.divide %x, %b : tensor<4x64xf32>
      return %r : tensor<4x64xf32>
    }""")
    before = invoke("compile", path, "-O", "3", "--dump-after", "remove-dead-code").output
    assert "= rows(" not in before
    assert "= reduce(" in before
    assert "= rows(" in invoke("compile", path, "-O", "3", "--dump-after", "fuse-rows").output
    drawn = invoke("compile", path, "-O3", "--dump-after", "fuse-rows", "--emit", "dot").output
    assert drawn.startswith("digraph program {")
    assert 'subgraph "cluster_' in drawn
    assert drawn.count("divide") == 1
    wrong = invoke("compile", path, "--dump-after", "nothing")
    assert wrong.exit_code == 2
    assert "expected one of name-custom-calls, remove-collectives, " in wrong.output
    assert "expected --emit graph, got plan" in (
        invoke("compile", path, "--dump-after", "fuse-rows", "--emit", "plan").output
    )
