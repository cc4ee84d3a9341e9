"""Kernels within `mx.vmap`: what comes out is what a loop over the mapped axis gives."""

from __future__ import annotations

from threading import Thread

import mlx.core as mx
import numpy as np
import pytest

from metalbench import metal_kernel
from metalbench.errors import KernelFault, Unsupported
from metalbench.mlx import simulation

pytestmark = pytest.mark.usefixtures("patched")
RNG = np.random.default_rng(5)
A, B = (RNG.integers(-9, 9, (3, 4, 5)).astype(np.float32) for _ in range(2))
MA, MB = mx.array(A), mx.array(B)


def same(got, expected) -> None:
    assert isinstance(got, mx.array)
    np.testing.assert_array_equal(np.array(got), expected)


@pytest.mark.parametrize("in_axes", [0, 1, 2, -1, (0, 0), (2, 2)])
@pytest.mark.parametrize("out_axes", [0, 1, -1])
def test_axes(blend, in_axes, out_axes):
    axis = in_axes if isinstance(in_axes, int) else in_axes[0]
    got = mx.vmap(blend, in_axes=in_axes, out_axes=out_axes)(MA, MB)
    same(got, np.moveaxis(2 * A + B, axis, out_axes))


def test_vmap_over_different_axes(blend):
    got = mx.vmap(blend, in_axes=(0, 2))(MA, mx.array(np.moveaxis(B, 0, 2)))
    same(got, 2 * A + B)


def test_vmap_with_unmapped_inputs(blend):
    expected = 2 * A + B[0]
    same(mx.vmap(blend, in_axes=(0, None))(MA, MB[0]), expected)
    same(mx.vmap(lambda a: blend(a, MB[0]))(MA), expected)
    same(mx.vmap(lambda a: blend(a, B[0]))(MA), expected)
    same(mx.vmap(lambda a: blend(a, 7))(MA), 2 * A + 7)
    # A kernel of unmapped inputs alone runs once.
    got = mx.vmap(lambda a, b: a + blend(b, b), in_axes=(0, None))(MA, MB[0])
    same(got, A + 3 * B[0])


def test_around_the_kernel_is_code(blend):
    def function(a, b):
        scaled = mx.abs(a) * 2
        return blend(scaled, blend(b, scaled)) - a

    scaled = 2 * np.abs(A)
    same(mx.vmap(function)(MA, MB), 2 * scaled + (2 * B + scaled) - A)


def test_trees(blend):
    def function(inputs, bias):
        return {"out": [blend(inputs["a"], inputs["b"]) + bias], "a": (inputs["a"],)}

    got = mx.vmap(function, in_axes=({"a": 0, "b": 1}, None))(
        {"a": MA, "b": mx.array(np.moveaxis(B, 0, 1))}, mx.array(1.0)
    )
    same(got["out"][0], 2 * A + B + 1)
    same(got["a"][0], A)


def test_maps_within_maps(blend):
    same(mx.vmap(mx.vmap(blend))(MA, MB), 2 * A + B)
    same(mx.vmap(mx.vmap(mx.vmap(lambda a, b: blend(a[None], b[None])[0])))(MA, MB), 2 * A + B)
    got = mx.vmap(lambda a: mx.vmap(lambda b: blend(a, b))(MB[0]))(MA[0])
    same(got, 2 * A[0][:, None] + B[0][None])
    got = mx.vmap(mx.vmap(blend, in_axes=(0, None)), in_axes=(None, 0))(MA[0], MB[0])
    same(got, 2 * A[0][None] + B[0][:, None])


def test_several_outputs_of_several_types():
    kernel = metal_kernel(
        "ends",
        ["x"],
        ["least", "greatest"],
        "least[0] = min(x[0], x[x_shape[0] - 1]); greatest[0] = max(x[0], x[x_shape[0] - 1]);",
    )

    def ends(x):
        return kernel(
            inputs=[x],
            grid=(1, 1, 1),
            threadgroup=(1, 1, 1),
            output_shapes=[(1,), ()],
            output_dtypes=[mx.bfloat16, mx.int32],
        )

    least, greatest = mx.vmap(ends)(MA[0])
    same(least.astype(mx.float32), np.minimum(A[0, :, 0], A[0, :, -1])[:, None])
    same(greatest, np.maximum(A[0, :, 0], A[0, :, -1]).astype(np.int32))
    assert (least.dtype, greatest.dtype) == (mx.bfloat16, mx.int32)


def test_vmap_of_an_empty_batch(blend):
    got = mx.vmap(blend)(MA[:0], MB[:0])
    assert (got.shape, got.dtype) == ((0, 4, 5), mx.float32)


def test_vmap_with_compile(blend):
    same(mx.compile(mx.vmap(blend))(MA, MB), 2 * A + B)
    mapped = mx.vmap(mx.compile(blend))
    same(mapped(MA, MB), 2 * A + B)
    same(mapped(MB, MA), 2 * B + A)
    compiled = mx.compile(blend)
    same(mx.vmap(compiled)(MA, MB), 2 * A + B)
    same(compiled(MA, MB), 2 * A + B)


def test_a_function_with_a_gradient_of_its_own(blend):
    @mx.custom_function
    def function(a, b):
        return blend(a, b)

    @function.vjp
    def _(primals, cotangent, _):
        return blend(cotangent, 0), cotangent

    weights = mx.array(RNG.integers(-9, 9, A.shape).astype(np.float32))
    same(mx.vmap(function)(MA, MB), 2 * A + B)
    gradient = mx.grad(lambda a, b, w: (function(a, b) * w).sum())
    same(mx.vmap(gradient)(MA, MB, weights), 2 * np.array(weights))
    same(mx.vmap(mx.vmap(gradient))(MA, MB, weights), 2 * np.array(weights))


def test_vmap_of_a_custom_function(blend):
    """MLX's own kernels cannot be mapped; code for a Mac that needs it says how."""
    asked = []

    @mx.custom_function
    def function(a, b):
        return blend(a, b)

    @function.vmap
    def _(inputs, axes):
        asked.append(axes)
        return blend(*inputs), 0

    same(mx.vmap(function)(MA, MB), 2 * A + B)
    assert asked == [(0, 0)]


def test_gradients_are_refused_as_by_mlx(blend):
    refusal = pytest.raises(Unsupported, match=r"\[blend\] a kernel has no gradient")
    with refusal:
        mx.grad(lambda a: mx.vmap(blend)(a, MB).sum())(MA)
    with refusal:
        mx.vmap(mx.grad(lambda a, b: blend(a, b).sum()))(MA, MB)


def test_vmap_passes_errors_on(run):
    def function(a):
        return run("out[0] = a[9];", [a], [(1,)], [mx.float32], grid=1, checked=True)[0]

    with pytest.raises(KernelFault, match=r"read of 4 bytes past the end of `a`"):
        mx.vmap(function)(MA[0])
    same(mx.vmap(lambda a, b: a + b)(MA, MB), A + B)


def test_no_placeholder_gets_out(blend, tmp_path):
    """In an exported map it would be a constant."""
    with pytest.raises(Unsupported, match=r"mx\.export_function cannot export kernels here"):
        mx.export_function(str(tmp_path / "f.mlxfn"), mx.vmap(blend), MA, MB)


def test_threads_map_at_the_same_time(blend):
    found = {}

    def work(number):
        x = mx.full((3, 4), number, mx.float32)
        found[number] = mx.vmap(blend)(x, x).tolist()

    threads = [Thread(target=work, args=[number]) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {number: [[3 * number] * 4] * 3 for number in range(4)}


def test_a_vmap_of_one_thread_does_not_affect_another(blend):
    found = []

    def function(a, b):
        thread = Thread(target=lambda: found.append(simulation.in_vmap()))
        thread.start()
        thread.join()
        found.append(simulation.in_vmap())
        return blend(a, b)

    same(mx.vmap(function)(MA, MB), 2 * A + B)
    assert found == [False, True]
    assert not simulation.in_vmap()
