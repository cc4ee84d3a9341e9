"""Tasks from the user's programs: what is written, what is refused, and that checks judge it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from agent_steel.welding.checks import results_of
from agent_steel.welding.command import welder_command
from agent_steel.welding.sources import parse_input, plain_name, read_source
from metalbench import _core, verify
from metalbench.errors import DeclarationError
from metalbench.kernel.library import Entry, Library, load_task
from metalbench.kernel.prepare import Builds
from metalbench.task.workload import workload

OPS = """
import mlx.core as mx

def soft_plus(x):
    return mx.logaddexp(x, 0)

def logs(x):
    return mx.log(x)

def lookup(table, ids):
    return table[ids]

def half(x):
    return x * 2

def noise(x):
    return x + mx.random.normal(x.shape)

def _hidden(x):
    return x
"""
WITH_INPUTS = """
import mlx.core as mx

def scaled(x, ids):
    return x[ids] * 3

def get_inputs():
    return [0.01 * mx.random.normal((64, 32), key=mx.random.key(0)), mx.arange(60)]
"""
BLOCK = """
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 8)

    def forward(self, x):
        return torch.relu(self.linear(x))
"""
PROGRAM = """
func.func @main(%x: tensor<64x32xf32>, %w: tensor<32xf32>) -> tensor<64x32xf32> {
  %b = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %y = stablehlo.multiply %x, %b : tensor<64x32xf32>
  %z = stablehlo.tanh %y : tensor<64x32xf32>
  return %z : tensor<64x32xf32>
}
"""
KERNEL = """
// Softplus.
// dispatch: soft_plus  threads_in_grid=(n16 * n128)  threads=(256)
#include <metal_stdlib>
using namespace metal;
kernel void soft_plus(device const float* x, device float* y,
                      uint i [[thread_position_in_grid]]) {
  y[i] = max(x[i], 0.0f) + log(1.0f + exp(-abs(x[i])));
}
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("ops", OPS), ("inputs", WITH_INPUTS), ("block", BLOCK)):
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    (tmp_path / "scaled_tanh.mlir").write_text(PROGRAM, "utf-8")
    return tmp_path


def author(files: Path, spec: str, *inputs: str):
    source = read_source(str(files / spec), [parse_input(each) for each in inputs])
    folder = files / "out"
    folder.mkdir()
    authored = source.author(source.name, folder)
    return authored, load_task(folder / f"{source.name}.py")


def test_the_task_of_an_mlx_function(files: Path) -> None:
    authored, task = author(files, "ops.py:soft_plus", "16x128")
    assert set(authored.files) == {"soft_plus.py", "_soft_plus_function.py"}
    assert authored.remarks == ()
    work = workload(task, "odd1")
    np.testing.assert_allclose(
        work.expected["y"], np.logaddexp(work.widen_inputs(np.float64)["x"], 0), rtol=1e-14
    )
    assert task.flops("seed") == 16 * 128
    assert task.gpu_headlines == ("large",)


def test_a_kernel_is_judged_by_the_task_of_a_program(files: Path) -> None:
    author(files, "ops.py:soft_plus", "16x128")
    path = files / "out" / "soft_plus.py"
    for text, passes in ((KERNEL, True), (KERNEL.replace("1.0f +", "1.001f +"), False)):
        path.with_suffix(".metal").write_text(text.lstrip(), "utf-8")
        entry = Entry("soft_plus", "user", path, [path.with_suffix(".metal")])
        builds = Builds(_core.open("cpu"), entry.kernel(), entry.task)
        assert verify.verify(builds, verify.VerifyPlan(seeds=[0])).passed == passes


@pytest.mark.parametrize("name", ["function", "program", "task", "normal", "output"])
def test_a_task_may_be_called_like_a_part_of_its_file(files: Path, name: str) -> None:
    folder = files / "out"
    folder.mkdir()
    source = read_source(str(files / "ops.py:half"), [parse_input("64x32")])
    source.author(name, folder)
    task = load_task(folder / f"{name}.py")
    assert task.name == name
    assert workload(task, "small").expected["y"].shape == tuple(task.extents("small").values())


def test_inputs_are_those_with_finite_results(files: Path) -> None:
    authored, _ = author(files, "ops.py:logs", "64x32")
    assert 'x=positive("n64", "n32")' in authored.files["logs.py"]
    assert authored.remarks == ('inputs are drawn as positive("n64", "n32")',)


def test_indices_end_where_their_axis_does(files: Path) -> None:
    authored, _ = author(files, "ops.py:lookup", "512x64", "40:int32")
    assert 'ids=integers("n40", high="n512", dtype="int32")' in authored.files["lookup.py"]


def test_indices_of_a_program_of_one_shape_are_not_all_zero(files: Path) -> None:
    text = "def fixed(x, ids):\n    return x.reshape(16, 8)[ids.reshape(4, 2)]\n"
    (files / "fixed.py").write_text(text, "utf-8")
    authored, _ = author(files, "fixed.py", "128", "8:int32")
    assert "ids=integers(8, high=8" in authored.files["fixed.py"]


def test_inputs_are_like_those_of_get_inputs(files: Path) -> None:
    authored, _ = author(files, "inputs.py:scaled")
    text = authored.files["scaled.py"]
    assert 'x=normal("n64", "n32", deviation=0.01)' in text
    assert 'ids=integers("n60", high="n64", dtype="int32")' in text


def test_halves_of_the_example_are_a_type_of_the_task(files: Path) -> None:
    _, task = author(files, "ops.py:half", "64x32:float16")
    assert task.dtypes == ("float32", "float16")


def test_the_task_of_a_pytorch_class_with_an_example(files: Path) -> None:
    pytest.importorskip("torch")
    authored, task = author(files, "block.py:Block", "4x16")
    assert set(authored.files) == {"block.py", "_block_module.py"}
    work = workload(task, "odd")
    x, w, b = work.widen_inputs(np.float64).values()
    np.testing.assert_allclose(work.expected["y"], np.maximum(x @ w.T + b, 0), rtol=1e-12)


def test_the_task_of_a_stablehlo_program(files: Path) -> None:
    pytest.importorskip("jax")
    authored, task = author(files, "scaled_tanh.mlir")
    assert authored.reference == "_scaled_tanh_program.mlir"
    assert set(task.sizes["seed"]) == {"n64", "n32"}
    work = workload(task, "odd1")
    x, w = work.widen_inputs(np.float64).values()
    np.testing.assert_allclose(work.expected["y"], np.tanh(x * w), rtol=1e-13)


@pytest.mark.parametrize(
    ("spec", "inputs", "message"),
    [
        ("ops.py", [], "expected a class Model or one function, got soft_plus, logs.*ops.py:NAME"),
        ("ops.py:soft_puls", [], "no class or function 'soft_puls'; did you mean 'soft_plus'"),
        ("ops.py:half", [], r"expected a function get_inputs\(\).*or --input .*got neither"),
        ("ops.py:half", ["4", "4"], r"expected at most 1 inputs \(x\), got 2"),
        ("ops.py:noise", ["4x4"], "draws random numbers; take them as an argument"),
        ("block.py:Block", [], r"expected a function get_inputs\(\).*or --input .*got neither"),
        ("scaled_tanh.mlir", ["4"], "has the shapes of its arguments itself"),
        ("none.py:f", [], r"none\.py: expected a file, found none"),
        ("ops.txt", [], "expected a PyTorch module .* or a StableHLO program"),
    ],
)
def test_a_source_that_is_no_task_is_refused(files, spec, inputs, message) -> None:
    with pytest.raises(DeclarationError, match=message):
        author(files, spec, *inputs)


def test_weld_names_the_program_and_not_its_copy_in_a_temporary_folder(files: Path) -> None:
    result = weld(files, str(files / "ops.py:noise"), "--input", "4x4")
    assert str(result.exception) == (
        "[weld] _noise_function.py, noise of (4, 4): it draws random numbers; take them as an "
        "argument"
    )


def test_an_mlx_reference_has_the_precision_of_float64(files: Path) -> None:
    (files / "reference.py").write_text(
        "import mlx.core as mx\n\ndef f(x):\n    return mx.exp(x)\n"
    )
    work = workload(Library().entry("relu").task, "small")
    x = work.widen_inputs(np.float64)["x"]
    got = results_of(files / "reference.py", "f")(work)["y"]
    np.testing.assert_allclose(got, np.exp(x), rtol=1e-14)


@pytest.mark.parametrize("text", ["", "4x", "x=y", "4x4:float7", "-1x4"])
def test_parse_input_names_the_form(text: str) -> None:
    with pytest.raises(DeclarationError, match=f"--input {text}: (expected|no type)"):
        parse_input(text)


@pytest.mark.parametrize(
    ("text", "name"), [("MyModel", "my_model"), ("19_ReLU", "m19_re_lu"), ("softmax", "softmax")]
)
def test_plain_name(text: str, name: str) -> None:
    assert plain_name(text) == name


def weld(files: Path, *arguments: str):
    where = ["--into", str(files / "mine"), "--device", "cpu"]
    return CliRunner().invoke(welder_command, [*arguments, *where])


def test_weld_writes_a_task_that_passed_its_checks(files: Path) -> None:
    spec = str(files / "ops.py:soft_plus")
    result = weld(files, spec, "--input", "16x128", "--output", "json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["usage"]["requests"] == 0
    assert [each.partition(":")[0] for each in told["checks"]] == ["task", "MLX", "admit"]
    written = {path.name for path in (files / "mine" / "user").iterdir()}
    assert written == {"soft_plus.py", "_soft_plus_function.py", "soft_plus.md"}
    assert "Welder: checking: bad results are tried against the task" in result.stderr
    again = weld(files, spec, "--input", "16x128")
    assert "is already there; choose another --name" in str(again.exception)


@pytest.mark.whole
def test_weld_compares_a_stablehlo_program_with_its_own_compilation(files: Path) -> None:
    pytest.importorskip("jax")
    result = weld(files, str(files / "scaled_tanh.mlir"))
    assert result.exit_code == 0, result.output
    assert "agrees with MetalBench's own compilation of _scaled_tanh_program.mlir" in result.stdout
    assert "then: metalbench run scaled_tanh --kernels" in result.stdout


def test_weld_writes_nothing_if_the_checks_fail(files: Path) -> None:
    (files / "flat.py").write_text("def flat(x):\n    return x * 0\n", "utf-8")
    result = weld(files, str(files / "flat.py"), "--input", "64x32")
    assert result.exit_code == 1
    assert "has not passed its checks: admit: y is the same whatever" in str(result.exception)
    assert not (files / "mine").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected SOURCE (FILE.py, FILE.py:NAME or FILE.mlir), or --description"),
        (["-d", "softplus"], "--description needs --provider"),
        (["ops.py:half", "-d", "softplus"], "--description: SOURCE says what is computed"),
        (["ops.py:half", "--provider", "ollama"], "--provider: SOURCE says what is computed"),
        (["--input", "4"], "--input: expected SOURCE"),
    ],
)
def test_weld_refuses_options_that_contradict(files: Path, arguments, message: str) -> None:
    result = weld(files, *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_name_of_the_library_is_refused(files: Path) -> None:
    result = weld(files, str(files / "ops.py:half"), "--input", "4x4", "--name", "softmax")
    assert "the library has a task called 'softmax'" in str(result.exception)
