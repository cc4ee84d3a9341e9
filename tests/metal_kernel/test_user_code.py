"""Code that was written for a Mac, unchanged: it asks MLX for Metal, compiles, trains and maps."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import mlx.core as mx
import numpy as np
import pytest

from metalbench import patched_mlx

FOLDER = Path(__file__).parent / "user_code"


def imported(name: str) -> ModuleType:
    """The module as a process has it that imports it now."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tokens() -> dict:
    keys = mx.random.split(mx.random.key(7), 4)
    heads, length = 3, 9
    shapes = {"q": (64,), "k": (64,), "v": (8,), "a": ()}
    return {
        name: mx.random.normal((heads, length, *dims), key=key) / 4
        for (name, dims), key in zip(shapes.items(), keys, strict=True)
    }


def test_a_layer_of_a_language_model(tokens):
    bias = mx.array(1.5)
    without = imported("retention")
    assert without._kernel is None
    expected, expected_state = without.retention(*tokens.values(), bias)
    with patched_mlx():
        layer = imported("retention")
        assert layer._kernel is not None
        layer.retention_ops = None  # a GPU has no need of them
        y, state = layer.retention(*tokens.values(), bias)
        np.testing.assert_allclose(np.array(y), np.array(expected), atol=1e-5)
        np.testing.assert_allclose(np.array(state), np.array(expected_state), atol=1e-5)
        with mx.stream(mx.cpu), pytest.raises(TypeError):
            layer.retention(*tokens.values(), bias)


def test_a_loop_that_generates(tokens):
    bias = mx.array(0.5)
    expected, _ = imported("retention").retention(*tokens.values(), bias)
    with patched_mlx():
        layer, generation = imported("retention"), imported("generation")
        layer.retention_ops = None
        found = generation.generate(layer, tokens, bias, 4)
    np.testing.assert_allclose(np.array(found), np.array(expected), atol=1e-5)


def test_a_compiled_training_step():
    with patched_mlx():
        training = imported("training")
        found = training.train(training.gated, 12)
    expected = training.train(training.gated_ops, 12)
    assert expected[-1] < 0.7 * expected[0]
    np.testing.assert_allclose(found, expected, rtol=2e-4)


def test_samples_of_a_batch_are_mapped():
    """A kernel for one vector, with a barrier, over a batch of them and of their weights."""
    source = """
        threadgroup float partial[4];
        uint i = thread_position_in_threadgroup.x;
        float sum = 0;
        for (uint at = i; at < uint(x_shape[0]); at += threads_per_threadgroup.x)
            sum += float(x[at]) * float(x[at]);
        sum = simd_sum(sum);
        if (thread_index_in_simdgroup == 0) partial[simdgroup_index_in_threadgroup] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum = partial[0] + partial[1] + partial[2] + partial[3];
        float scale = metal::precise::rsqrt(sum / x_shape[0] + eps);
        for (uint at = i; at < uint(x_shape[0]); at += threads_per_threadgroup.x)
            out[at] = T(float(x[at]) * scale * float(weight[at]));
    """
    x = mx.random.normal((5, 300), key=mx.random.key(1))
    weight = mx.random.uniform(shape=(300,), key=mx.random.key(2))
    with patched_mlx():
        kernel = mx.fast.metal_kernel(
            name="rms", input_names=["x", "weight", "eps"], output_names=["out"], source=source
        )

        @mx.compile
        def rms(x, weight):
            return kernel(
                inputs=[x, weight, 1e-5],
                template=[("T", x.dtype)],
                grid=(128, 1, 1),
                threadgroup=(128, 1, 1),
                output_shapes=[x.shape],
                output_dtypes=[x.dtype],
            )[0]

        found = mx.vmap(rms, in_axes=(0, None))(x, weight)
        scales = mx.vmap(mx.vmap(rms, in_axes=(None, 0)), in_axes=(0, None))(
            x, mx.stack([weight] * 2)
        )
    expected = mx.fast.rms_norm(x, weight, 1e-5)
    np.testing.assert_allclose(np.array(found), np.array(expected), rtol=2e-5)
    for each in range(2):
        np.testing.assert_array_equal(np.array(scales[:, each]), np.array(found))
