"""Networks of MLX and PyTorch: what is recorded, and kernels in place of operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx import nn
from network_files import MLX, TORCH, write_network

from agent_steel.loop.verifier import Version
from agent_steel.networks.end_to_end import (
    KernelPlacer,
    compare_outputs,
    time_pairs,
)
from agent_steel.networks.load import load_network
from agent_steel.networks.operation import Network, Operation, Values
from agent_steel.networks.profile import NetworkProfile, largest_gain, list_missing, profile_network
from metalbench import _core
from metalbench.errors import MetalBenchError
from metalbench.kernel.library import Library
from metalbench.profiling.prediction import find_gpu_chip
from metalbench.run.trial import device_facts

CPU = _core.open("cpu")
FRAMEWORKS = [pytest.param(MLX, id="mlx"), pytest.param(TORCH, id="torch")]


def load(folder: Path, text: str) -> Network:
    if "import torch" in text:
        pytest.importorskip("torch", reason="extra kernelbench")
    return load_network(write_network(folder, text), "cpu")


def profile(network: Network, **options: Any) -> NetworkProfile:
    given: dict[str, Any] = {"seconds": 0.01, "pass_s": 1.0, "facts": device_facts(CPU), **options}
    return profile_network(network, Library(), CPU, **given)


@pytest.mark.parametrize("text", FRAMEWORKS)
def test_record_returns_the_operations_with_shapes_and_calls(tmp_path: Path, text: str) -> None:
    network = load(tmp_path, text)
    records = {}
    for each in network.record(0.01):
        records.setdefault(each.operation.name, []).append(each)
    (softmax,), (relu,) = records["softmax"], records["relu"]
    assert softmax.operation.shapes == "(2, 16, 32) -> (2, 16, 32)"
    assert (softmax.calls, relu.calls) == (1, 2)
    assert softmax.seconds > 0
    np.testing.assert_allclose(softmax.output.sum(-1), 1, rtol=1e-5)
    assert {"softmax", "relu", "gelu", "layer_norm", "add"} <= records.keys()


@pytest.mark.parametrize("text", FRAMEWORKS)
def test_profile_network_ranks_operations_and_finds_their_tasks(tmp_path: Path, text: str) -> None:
    found = profile(load(tmp_path, text))
    seconds = [each.seconds for each in found.operations]
    assert seconds == sorted(seconds, reverse=True)
    assert sum(each.share for each in found.operations) == pytest.approx(1)
    tasks = {each.found.entry.name for each in found.operations if each.found}
    assert tasks == {"softmax", "relu", "gelu", "layer_norm_affine", "matrix_add", "linear_bias"}
    assert list(list_missing(found.operations)) == ["multiply" if text is MLX else "mul"]
    assert [each.share for each in found.choose(2)] == [
        each.share for each in found.operations if each.found
    ][:2]


@pytest.mark.parametrize("text", FRAMEWORKS)
def test_a_network_with_kernels_in_place_has_the_outputs_of_the_file(
    tmp_path: Path, text: str
) -> None:
    network = load(tmp_path, text)
    chosen = profile(network).choose(10)
    placer = KernelPlacer("cpu")
    versions = {
        each.record.operation: (each.found, Version(each.found.kernel, {}, ""))
        for each in chosen
        if each.found is not None
    }
    run = network.place(placer.place(versions))
    got = network.outputs(run)
    # Twice, with other contents in the buffers.
    np.testing.assert_array_equal(network.outputs(run)[0], got[0])
    assert placer.runs == 2 * sum(each.record.calls for each in chosen) == 2 * 8
    exact = network.exact_outputs()
    assert exact is not None
    assert exact[0].dtype == np.float64
    original = network.outputs(network.run)
    compared = compare_outputs(got, original, exact, len(chosen))
    assert compared.passed, compared
    assert compared.largest > 0
    assert not compare_outputs([got[0] * 1.001], original, exact, len(chosen)).passed


IMAGES = """import torch


class Model(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        plain = dict(bias=False)
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, channels, 3, padding=1, **plain),
            torch.nn.ReLU(),
            torch.nn.Conv2d(channels, channels, 3, groups=channels, **plain),
            torch.nn.Conv2d(channels, 2 * channels, 1, **plain),
            torch.nn.MaxPool2d(2),
            torch.nn.AvgPool2d(2, 2),
        )

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.randn(2, 3, 16, 18)]


def get_init_inputs():
    return [8]
"""


def test_operations_of_images_with_channels_first_run_as_kernels(tmp_path: Path) -> None:
    network = load(tmp_path, IMAGES)
    found = profile(network)
    assert list_missing(found.operations) == {}
    tasks = [each.found.entry.name for each in found.operations if each.found]
    assert sorted(tasks) == [
        *("avg_pool2d", "conv2d", "conv2d_1x1", "depthwise_conv2d", "max_pool2d", "relu")
    ]
    placer = KernelPlacer("cpu")
    versions = {
        each.record.operation: (each.found, Version(each.found.kernel, {}, ""))
        for each in found.operations
        if each.found is not None
    }
    got = network.outputs(network.place(placer.place(versions)))
    assert placer.runs == 6
    original, exact = network.outputs(network.run), network.exact_outputs()
    assert got[0].shape == original[0].shape == (2, 16, 3, 4)
    assert compare_outputs(got, original, exact, 6).passed


class Doubled:
    """Twice its operand, in place of an operation."""

    def __init__(self, operand: str) -> None:
        self.operands = (operand,)
        self.calls = 0

    def __call__(self, arrays: Mapping[str, Values], fixed: frozenset[str] = frozenset()) -> Values:
        self.calls += 1
        return 2 * arrays[self.operands[0]]


@pytest.mark.parametrize("text", FRAMEWORKS)
def test_place_exchanges_an_operation_and_no_other(tmp_path: Path, text: str) -> None:
    network = load(tmp_path, text)
    (softmax,) = (
        each.operation for each in network.record(0.01) if each.operation.name == "softmax"
    )
    doubled = Doubled(next(iter(softmax.arrays)))
    run = network.place({softmax: lambda: doubled})
    (got,) = network.outputs(run)
    (own,) = network.outputs(network.run)
    assert doubled.calls == 1
    # exp(y / 2) in proportion is the softmax of y, and y / 2 is what came out.
    exponentials = np.exp(got.astype(np.float64))
    np.testing.assert_allclose(
        0.5 * exponentials / exponentials.sum(-1, keepdims=True), own, rtol=1e-4
    )


def test_mlx_is_unchanged_outside_of_a_recorded_run(tmp_path: Path) -> None:
    before = (mx.softmax, mx.array.__add__, nn.gelu, nn.ReLU.__call__)
    load(tmp_path, MLX).record(0.01)
    assert (mx.softmax, mx.array.__add__, nn.gelu, nn.ReLU.__call__) == before
    with pytest.raises(MetalBenchError, match="NameError"):
        load(tmp_path, MLX.replace("self.norm(x)", "nothing")).record(0.01)
    assert (mx.softmax, mx.array.__add__, nn.gelu, nn.ReLU.__call__) == before


def test_compiled_functions_are_recorded_one_by_one_and_stay_as_they_are(tmp_path: Path) -> None:
    text = MLX.replace(
        "return softmax(", "return mx.compile(lambda y: softmax(mx.abs(y), axis=-1))("
    ).replace(", axis=-1) * 0.5", ") * 0.5")
    network = load(tmp_path, text)
    found = {each.operation.name: each.operation for each in network.record(0.01)}
    assert {"abs", "softmax"} <= found.keys()
    doubled = Doubled("a")
    run = network.place({found["softmax"]: lambda: doubled})
    np.testing.assert_array_equal(network.outputs(run)[0], network.outputs(network.run)[0])
    assert doubled.calls == 0


def test_a_random_network_has_no_exact_outputs(tmp_path: Path) -> None:
    text = MLX.replace("x + y", "x + y + mx.random.normal(x.shape)")
    network = load(tmp_path, text)
    assert network.exact_outputs() is None
    np.testing.assert_array_equal(*(network.outputs(network.run)[0] for _ in range(2)))


def test_predicted_profiles_have_bounds_for_operations_without_a_task(tmp_path: Path) -> None:
    found = profile(load(tmp_path, MLX), chip=find_gpu_chip("m2"))
    times = {each.name: each for each in found.operations}
    assert times["multiply"].is_bound
    # 2 x 16 x 32 numbers in and out, at 100 GB/s.
    assert times["multiply"].seconds == pytest.approx(2 * 2 * 16 * 32 * 4 / 100e9)
    assert not times["softmax"].is_bound
    # Work of a millionth of a second and the cost of a dispatch, but not of a command buffer.
    assert 1e-7 < times["softmax"].seconds < 1e-4


def test_largest_gain_is_amdahls() -> None:
    assert largest_gain(0.24) == pytest.approx(1.3158, rel=1e-4)
    assert largest_gain(0.0) == 1
    assert largest_gain(1.0) == float("inf")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "expected a class 'Model'"),
        ("class Model: pass\ndef get_init_inputs(): return []\n", "a function 'get_inputs'"),
        (MLX.replace("(nn.Module)", ""), "expected a torch.nn.Module or an mlx.nn.Module"),
        ("def Model(): return 3\nget_inputs = lambda: [1]\nget_init_inputs = lambda: []\n", "int"),
        (MLX.replace("return [dims]", "return [undefined]"), "get_init_inputs: line 27: NameError"),
        (MLX + "\nimport nothing_of_that_name\n", "No module named"),
        ("def f(:\n", "SyntaxError"),
    ],
)
def test_load_network_names_the_fault_of_a_file(tmp_path: Path, text: str, said: str) -> None:
    path = write_network(tmp_path, text)
    with pytest.raises(MetalBenchError) as raised:
        load_network(path, "cpu")
    assert str(path) in str(raised.value)
    assert said in str(raised.value)


def test_without_pytorch_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MetalBenchError, match=r"pip install 'metalbench\[kernelbench\]'"):
        load_network(write_network(tmp_path, TORCH), "cpu")


def test_torch_flow_that_depends_on_values_is_an_error(tmp_path: Path) -> None:
    text = TORCH.replace("y = self", "x = x if x.sum() > 0 else -x\n        y = self")
    network = load(tmp_path, text)
    with pytest.raises(MetalBenchError, match="cannot be traced"):
        network.record(0.01)


@pytest.mark.parametrize(
    ("got", "fault"),
    [
        ([], "0 outputs instead of 2"),
        ([np.zeros(3, np.float32), np.arange(3)], "shape (3,) instead of (4,)"),
        ([np.zeros(4, np.float32), np.arange(3) + 1], "other integers"),
        ([np.full(4, np.nan, np.float32), np.arange(3)], "beyond the tolerance"),
    ],
)
def test_compare_outputs_names_the_fault(got: list[Values], fault: str) -> None:
    original = [np.zeros(4, np.float32), np.arange(3)]
    compared = compare_outputs(got, original, None, 3)
    assert not compared.passed
    assert fault in compared.fault


def test_compare_outputs_without_float64_allows_roundoff_of_each_operation() -> None:
    original = [np.full(4, 2.0, np.float32)]
    roundoff = 2.0**-24
    for operations, passed in ((1, False), (4, True)):
        got = [original[0] + np.float32(2 * 8 * roundoff * 2)]
        compared = compare_outputs(got, original, None, operations)
        assert compared.passed == passed, operations
    assert "float64" in compared.rule


def test_time_pairs_times_both_sides_equally_often() -> None:
    calls: list[str] = []

    def run(name: str) -> Callable[[], None]:
        return lambda: calls.append(name)

    judged = time_pairs(run("before"), run("after"), 0.0, seed=1)
    assert calls.count("before") == calls.count("after") == 9
    pairs = [tuple(calls[place : place + 2]) for place in range(2, 18, 2)]
    assert {tuple(sorted(each)) for each in pairs} == {("after", "before")}
    assert len(set(pairs)) == 2  # in both orders
    assert judged.ratio.value > 0


def test_operations_of_equal_arguments_are_one() -> None:
    assert len({Operation("f", (("x", 1),), ()), Operation("f", (("x", 1),), ())}) == 1
