"""Kernels within `mx.compile`, in each way that it is used."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

import mlx.core as mx
import numpy as np
import pytest

from metalbench import patched_mlx
from metalbench.errors import Unsupported
from metalbench.mlx import simulation

X = mx.arange(12, dtype=mx.float32).reshape(3, 4)
EXPECTED = 3 * np.arange(12.0).reshape(3, 4)


def same(got, expected) -> None:
    assert isinstance(got, mx.array)
    np.testing.assert_array_equal(np.array(got), np.array(expected))


@pytest.mark.usefixtures("patched")
def test_a_decorated_function(blend):
    @mx.compile
    def function(x):
        return blend(mx.exp(x) * 0 + x, x) + 1

    for _ in range(3):
        same(function(X), EXPECTED + 1)
    same(function(X[:2]), EXPECTED[:2] + 1)
    same(function(X.astype(mx.float16)), EXPECTED + 1)


@pytest.mark.usefixtures("patched")
@pytest.mark.parametrize("shapeless", [False, True])
def test_every_call_computes_again(blend, shapeless):
    function = mx.compile(blend, shapeless=shapeless)
    for number in range(4):
        same(function(X, mx.full(X.shape, number)), 2 * np.array(X) + number)


@pytest.mark.usefixtures("patched")
def test_compiled_functions_within_each_other(blend):
    @partial(mx.compile, shapeless=True)
    def inner(x):
        return blend(x, x)

    @mx.compile
    def outer(x):
        return inner(inner(x)) - blend(x, 1)

    same(outer(X), 9 * np.array(X) - (2 * np.array(X) + 1))


@pytest.mark.usefixtures("patched")
def test_keywords_and_trees(blend):
    @mx.compile
    def function(tree, *, scale=1, bias=None):
        first, (second,) = tree["pair"]
        out = blend(first, second) * scale
        return {"out": out if bias is None else out + bias, "rest": [(first, "text", 3)]}

    tree = {"pair": (X, [X])}
    same(function(tree)["out"], EXPECTED)
    answer = function(tree, scale=2, bias=mx.array(1.0))
    same(answer["out"], 2 * EXPECTED + 1)
    ((first, *others),) = answer["rest"]
    same(first, X)
    assert others == ["text", 3]


@pytest.mark.usefixtures("patched")
def test_state_is_captured(blend):
    state = {"sum": mx.zeros(4), "steps": [mx.array(0)]}

    @partial(mx.compile, inputs=state, outputs=state)
    def step(x):
        state["sum"] = blend(state["sum"], x)
        state["steps"][0] = state["steps"][0] + 1
        return state["sum"].max()

    expected = np.zeros(4)
    for number in range(5):
        expected = 2 * expected + number
        same(step(mx.full((4,), number, mx.float32)), expected.max())
        same(state["sum"], expected)
        same(state["steps"][0], number + 1)
    state["sum"] = mx.ones(4)
    same(step(mx.zeros(4)), 2)


@pytest.mark.usefixtures("patched")
def test_random_state_advances(blend):
    @partial(mx.compile, inputs=mx.random.state, outputs=mx.random.state)
    def noise(x):
        return blend(x, mx.random.uniform(shape=x.shape))

    assert not mx.array_equal(noise(X), noise(X))


def test_functions_compiled_before_the_patch(blend):
    calls = []

    @mx.compile
    def function(x):
        calls.append(1)
        return blend(x, x)

    @mx.compile
    def plain(x):
        return x + 1

    same(plain(X), np.array(X) + 1)
    with pytest.raises(Unsupported, match=r"call metalbench\.patch_mlx\(\) first"):
        function(X)
    with patched_mlx():
        same(function(X), EXPECTED)
        same(function(X), EXPECTED)
        same(plain(X), np.array(X) + 1)
    # Nothing of it is left in MLX's own cache.
    with pytest.raises(Unsupported, match=r"MLX_DISABLE_COMPILE=1"):
        function(X)
    with patched_mlx():
        same(function(X + 1), EXPECTED + 3)


def test_functions_compiled_within_the_patch_are_compiled_after_it():
    calls = []
    with patched_mlx():

        @mx.compile
        def function(x):
            calls.append(1)
            return x + 1

        for _ in range(5):
            function(X)
        assert len(calls) == 5
    for _ in range(5):
        same(function(X), np.array(X) + 1)
    assert len(calls) < 5 + 5


def evaluates(x):
    """An error where MLX compiles."""
    return x + x.item()


@pytest.mark.parametrize("before", [mx.enable_compile, mx.disable_compile])
@pytest.mark.parametrize("within", [None, "enable_compile", "disable_compile"])
def test_compile_settings_of_user_code_are_restored(before, within, blend):
    before()
    try:
        with patched_mlx():
            if within:
                getattr(mx, within)()
            same(mx.compile(blend)(X, X), EXPECTED)
        compiles = before is mx.enable_compile if within is None else within == "enable_compile"
        assert simulation._is_compiling() == compiles
    finally:
        mx.enable_compile()


def test_measured_calls_are_compiled():
    with patched_mlx():
        assert mx.compile(evaluates)(mx.array(1)).item() == 2
        with (
            simulation.compiling(),
            pytest.raises(ValueError, match=r"function transformations"),
        ):
            mx.compile(evaluates)(mx.array(1))
        assert mx.compile(evaluates)(mx.array(1)).item() == 2


def test_measured_calls_are_not_compiled_if_compilation_is_disabled():
    mx.disable_compile()
    try:
        for scope in (patched_mlx(), patched_mlx()):
            with scope, simulation.compiling():
                assert mx.compile(evaluates)(mx.array(1)).item() == 2
    finally:
        mx.enable_compile()


@pytest.mark.usefixtures("patched")
def test_an_error_in_a_compiled_function_leaves_no_trace(blend):
    state = [mx.zeros(4)]

    @partial(mx.compile, inputs=state, outputs=state)
    def step(x):
        state[0] = blend(state[0], x)
        if x.shape != (4,):
            raise ValueError("four")
        return state[0]

    same(step(mx.ones(4)), np.ones(4))
    with pytest.raises(ValueError, match="four"):
        step(mx.ones((4, 1)))
    state[0] = mx.ones(4)
    same(step(mx.ones(4)), 3 * np.ones(4))


@pytest.mark.usefixtures("patched")
def test_a_checkpoint(blend):
    same(mx.compile(mx.checkpoint(blend))(X, X), EXPECTED)


@pytest.mark.usefixtures("patched")
def test_gradients_are_refused_as_by_mlx(blend):
    with pytest.raises(Unsupported, match=r"\[blend\] a kernel has no gradient"):
        mx.compile(mx.grad(lambda x: blend(x, x).sum()))(X)


@pytest.mark.usefixtures("patched")
def test_an_export_is_refused(blend, tmp_path):
    with pytest.raises(Unsupported, match=r"mx\.export_function cannot export kernels here"):
        mx.export_function(str(tmp_path / "function.mlxfn"), lambda x: blend(x, x), X)


def test_mlxs_own_switch_is_enough():
    script = """
import mlx.core as mx
from metalbench import metal_kernel
kernel = metal_kernel("f", ["x"], ["y"], "y[0] = x[0] + 1;", device="cpu")
options = dict(grid=(1, 1, 1), threadgroup=(1, 1, 1), output_shapes=[(1,)], output_dtypes=["int32"])
print(mx.compile(lambda x: kernel(inputs=[x], **options)[0])(mx.array([1])).tolist())
"""
    answer = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "MLX_DISABLE_COMPILE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.stdout, answer.stderr) == ("[2]\n", "")
