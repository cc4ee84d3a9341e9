"""`metalbench hlo bench`: counts, and file formats."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from metalbench.cli.group import main
from metalbench.errors import Unsupported
from metalbench.hlo.bench.catalogue import draw_arguments, select_programs
from metalbench.hlo.bench.rivals import MlxProgram, XlaProgram
from metalbench.hlo.bench.timing import count_plan, describe_difference
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable
from metalbench.hlo.runtime.plan import build_plan

TWO = """func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x16xf32>) -> tensor<64x16xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %1 = stablehlo.exponential %0 : tensor<64x16xf32>
  %2 = stablehlo.negate %1 : tensor<64x16xf32>
  return %2 : tensor<64x16xf32>
}"""
LOOP = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.while(%x = %a) : tensor<4xf32>
    cond {
      %zero = stablehlo.constant dense<9.0> : tensor<f32>
      %s = stablehlo.slice %x [0:1] : (tensor<4xf32>) -> tensor<1xf32>
      %r = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
      %c = stablehlo.compare LT, %r, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %y = stablehlo.add %x, %x : tensor<4xf32>
      stablehlo.return %y : tensor<4xf32>
    }
  return %0 : tensor<4xf32>
}"""
RANDOM = """func.func @main(%a: tensor<2xui64>) -> tensor<2xui64> {
  %s, %r = stablehlo.rng_bit_generator %a, algorithm = THREE_FRY
    : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui64>)
  return %r : tensor<2xui64>
}"""


def invoke(*arguments):
    return CliRunner().invoke(main, ["hlo", "bench", *(str(each) for each in arguments)])


def test_counts_of_a_program_follow_from_its_shapes():
    unfused, made = (build_plan(import_program(TWO), level) for level in (0, 2))
    found = count_plan(unfused, made)
    a, b, y = 64 * 32 * 4, 32 * 16 * 4, 64 * 16 * 4
    assert (found.kernels_before, found.kernels) == (3, 1)
    assert found.moved_bytes == found.least_bytes == found.live_bytes == a + b + y
    assert found.flops == 2 * 64 * 32 * 16 + 2 * 64 * 16
    assert not found.has_loops
    slow = count_plan(unfused, unfused)
    assert slow.moved_bytes == a + b + y + 4 * y
    assert slow.live_bytes == a + b + 2 * y


def test_bench_of_mlx_computes_the_same():
    rng = np.random.default_rng(0)
    given = [rng.normal(size=each).astype("f4") for each in ((64, 32), (32, 16))]
    (found,) = MlxProgram(import_program(TWO), given).compute_results()
    np.testing.assert_allclose(found, -np.exp(given[0] @ given[1]), rtol=1e-4)


@pytest.mark.parametrize("type_", ["f64", "complex<f64>", "f8E4M3FN"])
def test_xla_computes_the_same_with_every_precision(type_):
    pytest.importorskip("jax")
    text = TWO.replace("f32", type_).replace("exponential", "tanh")
    executable = Executable(import_program(text), device="cpu")
    given = draw_arguments(executable.inputs, 0)
    found, expected = executable(*given), XlaProgram(text, given).compute_results()
    assert [each.dtype for each in found] == [each.dtype for each in expected]
    assert describe_difference(found, expected, executable.outputs) == ""
    wrong = [each + np.ones((), each.dtype) for each in expected]
    assert "largest difference" in describe_difference(wrong, expected, executable.outputs)


def test_mlx_is_left_out_by_name():
    with pytest.raises(Unsupported, match=r"\[mlx\] \[stablehlo.rng_bit_generator\]"):
        MlxProgram(import_program(RANDOM), [np.zeros(2, "u8")])


def test_launches_can_be_run_again_and_loops_have_none():
    executable = Executable(import_program(TWO), device="cpu")
    rng = np.random.default_rng(0)
    given = [rng.normal(size=each).astype("f4") for each in ((64, 32), (32, 16))]
    from metalbench.hlo.runtime.executable import upload_array

    buffers = [upload_array(executable.queue, each) for each in given]
    launches = executable.list_dispatches(buffers)
    executable.device.run(launches)
    executable.device.run(launches)
    assert len(launches) == 1
    assert Executable(import_program(LOOP), device="cpu").list_dispatches(buffers[:1]) is None


def test_results_are_written_and_compare(tmp_path):
    for name, text in (("two", TWO), ("loop", LOOP)):
        (tmp_path / f"{name}.mlir").write_text(text)
    options = ["--device", "cpu", "--time", "0.05", "--against", "mlx", "--kernels"]
    files = [tmp_path / "two.mlir", tmp_path / "loop.mlir"]
    document, lines = tmp_path / "a.json", tmp_path / "a.csv"
    answer = invoke(*files, *options, "--json", document, "--csv", lines)
    assert answer.exit_code == 0, answer.output
    two, loop = json.loads(document.read_text())["results"]
    assert two["status"] == loop["status"] == "correct"
    assert 0 < two["kernel_ns"]["value"] <= two["p95_ns"] <= two["p99_ns"]
    assert two["ratio"]["value"] > 0
    assert [each["share"] for each in two["kernels"]] == [1.0]
    assert loop["kernels"] == []
    assert loop["utilization"]["has_loops"]
    assert "not timed against MLX: [mlx] [stablehlo.while]" in answer.output
    rows = list(csv.DictReader(lines.read_text().splitlines()))
    assert [row["kernels"] for row in rows[:1]] == ["1"]
    compared = CliRunner().invoke(main, ["compare", str(document), str(document)])
    assert compared.exit_code == 0, compared.output
    assert "two.mlir" in compared.output


def test_bench_reports_an_invalid_program_by_name(tmp_path):
    (tmp_path / "wrong.mlir").write_text("nonsense")
    answer = invoke(tmp_path / "wrong.mlir", "--device", "cpu")
    assert answer.exit_code == 2
    assert "1 of 1 failed" in answer.output
    assert "not a StableHLO program" in answer.output


def test_networks_have_the_weights_of_their_papers():
    pytest.importorskip("jax")
    counts = {
        each.name: sum(int(np.prod(shape)) for shape, _ in each.arguments[1:])
        for each in select_programs(["network"])
    }
    # torchvision's resnet18 has 11 689 512 parameters; its 4 800 means and as many deviations,
    # which are not trained, are arguments here.
    assert counts["resnet18"] == 11_689_512 + 2 * 4_800
    assert sorted(counts) == ["cnn", "resnet18"]
