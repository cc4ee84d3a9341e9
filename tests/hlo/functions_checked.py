"""Run functions of JAX in checked builds of their kernels, by name.

Each function is planned at all levels. Its results must be those of XLA on the CPU, and every byte
of them must be written. Print a line of JSON for each function: its name, and the failure or null.
"""

from __future__ import annotations

import json
import sys
import traceback

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from metalbench.hlo.runtime.compilation import import_program
from metalbench.hlo.runtime.executable import Executable, read_buffer, to_storage, upload_array
from metalbench.hlo.runtime.plan import LEVELS

RANDOM = np.random.default_rng(0)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def integers(*shape, most=9):
    return RANDOM.integers(0, most, shape).astype(np.int32)


A, B, V, S = floats(5, 7), floats(7, 3), floats(7), np.float32(2)
INDEX, E = integers(4, most=5), np.zeros((0, 3), np.float32)
IMAGE, FILTER = floats(2, 9, 8, 3), floats(3, 2, 3, 4)
SQUARE = floats(6, 6)
POSITIVE = (SQUARE @ SQUARE.T + 6 * np.eye(6)).astype(np.float32)


def window(x, kind, size, strides, padding):
    initial, reducer = {"max": (-np.inf, lax.max), "add": (0.0, lax.add)}[kind]
    return lax.reduce_window(x, np.float32(initial), reducer, size, strides, padding)


def loss(x, w):
    return jnp.sin(jnp.sin(x @ w) @ w.T).sum()


def argmax_with_pairs(x, n):
    def larger(one, other):
        first = one[0] >= other[0]
        return jnp.where(first, one[0], other[0]), jnp.where(first, one[1], other[1])

    return lax.reduce((x, n), (np.float32(-np.inf), np.int32(0)), larger, (1,))


PROGRAMS = {
    "barrier_of_two_shapes": (lambda *x: lax.optimization_barrier(x), A, V),
    "barrier_large_first": (lambda *x: lax.optimization_barrier(x), floats(700), V, S),
    "barrier_small_first": (lambda *x: lax.optimization_barrier(x), S, V, floats(700)),
    "barrier_of_types": (lambda *x: lax.optimization_barrier(x), INDEX, A, A[0] > 0, V + 1j * V),
    "barrier_with_nothing": (lambda *x: lax.optimization_barrier(x), E, A, E[:, 0]),
    "barrier_of_arithmetic": (
        lambda a, v: lax.optimization_barrier((a * 2, v.sum(), a @ a.T)),
        A,
        V,
    ),
    "barrier_read_by_more": (lambda a, v: sum(lax.optimization_barrier((a, v))) + a, A, V),
    "barrier_nested": (
        lambda a, v: lax.optimization_barrier((lax.optimization_barrier((v, a))[0], a)),
        A,
        V,
    ),
    "barrier_in_a_loop": (
        lambda a, v: lax.fori_loop(0, 3, lambda _, c: lax.optimization_barrier(c), (a, v)),
        A,
        V,
    ),
    "gradient_of_a_checkpoint": (jax.grad(jax.checkpoint(loss), (0, 1)), A / 4, B / 4),
    "several_results": (lambda a: (a + 1, jnp.exp(a), a > 0, a.sum(0)), A),
    "results_of_two_shapes": (lambda a, v: (a * v, v * 2, a.T), A, V),
    "argmax_of_pairs": (argmax_with_pairs, A, integers(5, 7)),
    "argmax": (lambda a: jnp.argmax(a, 1), A),
    "variance": (lambda a: (a.mean(0), a.var(0)), A),
    "long_reduction": (lambda a: a.sum(), floats(70, 90)),
    "sort_with_values": (lambda a, n: lax.sort((a, n), num_keys=1), A, integers(5, 7)),
    "sort_of_long_lines": (jnp.sort, floats(2, 1500)),
    "top_values": (lambda a: lax.top_k(a, 3), A),
    "gather_clips": (lambda a, i: a[i], A, np.array([4, -9, 77], np.int32)),
    "scatter_drops": (lambda a, i: a.at[i].add(1), A, np.array([0, 4, 99, -77], np.int32)),
    "scatter_of_rows": (lambda a, i, u: a.at[i].set(u), A, INDEX, floats(4, 7)),
    "dynamic_slice": (lambda a, n: lax.dynamic_slice(a, (n, n), (2, 3)), A, np.int32(99)),
    "dynamic_update": (
        lambda a, u, n: lax.dynamic_update_slice(a, u, (n, n)),
        A,
        floats(2, 2),
        np.int32(-3),
    ),
    "pad_and_cut": (
        lambda a: lax.pad(a, np.float32(0), [(2, -1, 1), (-2, 3, 0)]),
        A,
    ),
    "concatenation": (lambda a, b: jnp.concatenate([a, b.T, a]), A, floats(7, 2)),
    "strided_slices": (lambda a: a[4:0:-2, 1::3], A),
    "transposes": (lambda x: jnp.transpose(x, (2, 0, 3, 1)).reshape(24, -1), floats(4, 5, 3, 2)),
    "product": (lambda a, b: a @ b, A, B),
    "product_of_batches": (lambda a, b: a @ b, floats(3, 17, 18), floats(3, 18, 19)),
    "product_with_epilogue": (lambda a, b: jax.nn.gelu(a @ b + 1), floats(33, 20), floats(20, 35)),
    "softmax": (jax.nn.softmax, floats(5, 45)),
    "layer_norm": (
        lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5),
        floats(6, 100),
    ),
    "attention": (
        lambda q, k, v: jax.nn.softmax(q @ k.T) @ v,
        floats(1, 16),
        floats(40, 16),
        floats(40, 9),
    ),
    "convolution": (
        lambda x, w: lax.conv_general_dilated(
            x, w, (2, 1), [(1, 2), (0, 3)], (1, 2), (2, 1), ("NHWC", "HWIO", "NHWC")
        ),
        IMAGE,
        FILTER,
    ),
    "pooling": (lambda x: window(x, "max", (1, 3, 2, 1), (1, 2, 2, 1), "SAME"), IMAGE),
    "gradient_of_pooling": (
        jax.grad(lambda x: window(x, "max", (1, 3, 2, 1), (1, 2, 2, 1), "VALID").sum()),
        IMAGE,
    ),
    "sums_of_windows": (lambda x: window(x, "add", (3, 2), (2, 1), [(2, 1), (0, 1)]), A),
    "cumulative": (lambda a: (jnp.cumsum(a, 1), lax.cummax(a, 0)), A),
    "loop_of_states": (
        lambda a, v: lax.while_loop(
            lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] * s[2], s[2] + 1), (0, a, v)
        ),
        A,
        V,
    ),
    "branches_of_shapes": (
        lambda p, a, v: lax.cond(p, lambda a, v: (a, v), lambda a, v: (a + 1, v * 2), a, v),
        np.bool_(False),
        A,
        V,
    ),
    "switch": (
        lambda n, a: lax.switch(n, [lambda a: a, lambda a: -a, lambda a: a * 2], a),
        np.int32(9),
        A,
    ),
    "scan": (lambda v, a: lax.scan(lambda c, r: (c + r, (c * r, r.sum())), v, a), V, A),
    "transform": (jnp.fft.fft, floats(3, 30)),
    "real_transform": (lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), floats(3, 14)),
    "triangle": (jnp.linalg.cholesky, POSITIVE),
    "solution": (
        lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True),
        np.tril(SQUARE) + 4 * np.eye(6, dtype=np.float32),
        floats(6, 2),
    ),
    "random_bits": (lambda k: jax.random.bits(k, (3, 5)), np.array([1, 2], np.uint32)),
    "nothing": (lambda e, v: (e + 1, e.sum(0), v), E, V),
    "complex_numbers": (lambda v: (jnp.exp(1j * v), jnp.abs(v + 1j)), V),
    "bits": (lambda v: lax.bitcast_convert_type(v, np.uint8), V),
}
# Custom calls of LAPACK on the CPU, operations of StableHLO elsewhere.
WITHOUT_LAPACK = ("triangle", "solution")


def run(name):
    """Raise AssertionError or KernelFault if a program is wrong."""
    function, *arguments = PROGRAMS[name]
    traced = jax.jit(function, keep_unused=True).trace(*arguments)
    platform = "tpu" if name in WITHOUT_LAPACK else "cpu"
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for level in LEVELS:
        program = Executable(import_program(text), level=level, device="cpu", checked=True)
        given = [
            upload_array(program.queue, to_storage(np.asarray(each), type_, "argument"))
            for each, type_ in zip(arguments, program.inputs, strict=True)
        ]
        found = program.run(given)
        for buffer, type_, wanted in zip(found, program.outputs, expected, strict=True):
            unwritten = buffer.unwritten()[0] if type_.nbytes else 0
            assert not unwritten, f"-O {level}: {unwritten} bytes of {type_} were not written"
            np.testing.assert_allclose(
                read_buffer(program.queue, buffer, type_),
                np.asarray(wanted),
                rtol=1e-4,
                atol=1e-4,
                err_msg=f"-O {level}",
            )


def outcome(name):
    """Return the failure as text, or None."""
    try:
        run(name)
    except BaseException:
        return traceback.format_exc()
    return None


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(json.dumps([each, outcome(each)]), flush=True)
