"""Other options of a call: templates, grids, initial values, math modes."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from metalbench import metal_kernel

ROWS = """
    uint3 p = thread_position_in_grid, n = threads_per_grid;
    out[(p.z * n.y + p.y) * n.x + p.x] = threads_per_threadgroup.x * 100
        + threads_per_threadgroup.y * 10 + threads_per_threadgroup.z;
"""


def test_template_arguments(run):
    source = """
        uint i = thread_position_in_grid.x;
        T x = a[i];
        out[i] = twice ? 2 * x + shift : x + shift;
    """
    a = np.array([1.9, -2.9], np.float32)
    for twice in (True, np.False_):
        template = [("T", mx.int32), ("twice", twice), ("shift", np.int64(-3))]
        (out,) = run(source, [a], [(2,)], ["float32"], grid=2, template=template)
        np.testing.assert_array_equal(out, np.trunc(a) * (2 if twice else 1) - 3)


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.complex64, np.uint8, np.dtype("float16")])
def test_template_types(run, dtype):
    (out,) = run("out[0] = sizeof(T);", [], [(1,)], ["int32"], grid=1, template=[("T", dtype)])
    assert out[0] == (dtype.size if isinstance(dtype, mx.Dtype) else np.dtype(dtype).itemsize)


def test_the_helpers_of_a_header(run):
    header = "#include <metal_math>\ntemplate <typename U> U thrice(U x) { return 3 * x; } // end"
    (out,) = run("out[0] = thrice(a[0]);", [np.ones(9)], [(1,)], ["float32"], grid=1, header=header)
    assert out[0] == 3


def test_a_threadgroup_is_cut_to_the_grid(run):
    (out,) = run(ROWS, [], [(2, 3, 4)], ["int32"], grid=(4, 3, 2), threadgroup=(256, 1, 8))
    np.testing.assert_array_equal(out, np.full((2, 3, 4), 412))


def test_a_grid_need_not_be_a_multiple_of_the_threadgroup(run):
    (out,) = run(ROWS, [], [(1, 3, 5)], ["int32"], grid=(5, 3, 1), threadgroup=(4, 2, 1))
    expected = [[421, 421, 421, 421, 121]] * 2 + [[411, 411, 411, 411, 111]]
    np.testing.assert_array_equal(out[0], expected)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float32", 1.5), ("bfloat16", 1.5), ("int32", 1), ("bool", True), ("complex64", 1.5)],
)
def test_init_value(run, dtype, expected):
    source = "if (thread_position_in_grid.x == 3) out[3] = 0;"
    (out,) = run(source, [], [(5,)], [dtype], grid=5, init_value=1.5)
    assert out.tolist() == [expected] * 3 + [0] + [expected]


@pytest.mark.parametrize("name", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_init_values_saturate_to_the_integer_range(run, name):
    limits = np.iinfo(name)
    for value, expected in [
        (limits.max, limits.max),
        (1e30, limits.max),
        (np.inf, limits.max),
        (-1e30, limits.min),
        (-np.inf, limits.min),
        (np.nan, 0),
    ]:
        (out,) = run(";", [], [(1,)], [name], grid=1, init_value=value)
        assert out[0] == expected


def test_numbers_and_sizes_may_be_of_numpy_or_mlx(run):
    options = {"grid": tuple(np.array([3, 1, 1])), "threadgroup": np.array([2, 1, 1])}
    for value in (np.float16(2), np.int64(2), mx.array(2.0)):
        (out,) = run(";", [], [np.array([2, 2])], ["int32"], init_value=value, **options)
        np.testing.assert_array_equal(out, np.full((2, 2), 2))


def test_init_value_of_infinity(run):
    for name in ("float32", "float16", "bfloat16"):
        (out,) = run(";", [], [(2,)], [name], grid=1, init_value=-np.inf)
        assert out.tolist() == [-np.inf] * 2


def test_init_value_without_any_thread(run):
    (out,) = run("out[0] = 1;", [], [(2, 2)], ["int32"], grid=(4, 0, 1), init_value=7)
    np.testing.assert_array_equal(out, np.full((2, 2), 7))


@pytest.mark.parametrize("kind", [np.array, mx.array])
def test_atomic_outputs_add_up(run, kind):
    a = kind(np.random.default_rng(0).integers(0, 10, 5000).astype(np.uint32))
    source = """
        uint i = thread_position_in_grid.x;
        atomic_fetch_add_explicit(&out[a[i]], 1, memory_order_relaxed);
    """
    options = {"grid": 5000, "init_value": 0, "atomic_outputs": True}
    (out,) = run(source, [a], [(10,)], ["uint32"], **options)
    np.testing.assert_array_equal(np.array(out), np.bincount(np.array(a), minlength=10))


def test_threads_work_together(run):
    a = np.random.default_rng(0).integers(0, 100, (6, 256)).astype(np.float32)
    source = """
        threadgroup T partial[32];
        T sum = simd_sum(a[thread_position_in_grid.x]);
        if (thread_index_in_simdgroup == 0) partial[simdgroup_index_in_threadgroup] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (thread_index_in_threadgroup == 0) {
            T total = 0;
            for (uint i = 0; i < simdgroups_per_threadgroup; ++i) total += partial[i];
            out[threadgroup_position_in_grid.x] = total;
        }
    """
    options = {"grid": a.size, "threadgroup": (256, 1, 1), "template": [("T", mx.float32)]}
    for checked in (False, True):
        (out,) = run(source, [a], [(6,)], ["float32"], checked=checked, **options)
        np.testing.assert_array_equal(out, a.sum(axis=1))


def test_a_recurrence_with_pointers_that_move_on(run):
    # Each SIMD-group owns one row of the state; inputs and outputs are advanced step by step.
    source = """
        constexpr int each = K / 32;
        uint row = thread_position_in_grid.y, lane = thread_index_in_simdgroup;
        auto x = a;
        auto key = b + lane * each;
        out1 += row;
        float state[each] = {};
        for (int t = 0; t < c; ++t) {
            InT sum = 0;
            for (int i = 0; i < each; ++i) {
                state[i] = d * state[i] + key[i] * x[row];
                sum += state[i];
            }
            sum = simd_sum(sum);
            if (lane == 0) *out1 = sum;
            x += R; key += K; out1 += R;
        }
        for (int i = 0; i < each; ++i) out2[row * K + lane * each + i] = state[i];
    """
    steps, rows, width = 7, 5, 64
    x = mx.random.normal((steps, rows), key=mx.random.key(0))
    keys = mx.random.normal((steps, width), key=mx.random.key(1))
    template = [("InT", mx.float32), ("R", rows), ("K", width)]
    options = {"grid": (32, rows, 1), "threadgroup": (32, 4, 1), "template": template}
    shapes = [(steps, rows), (rows, width)]
    for checked in (False, True):
        inputs = [x, keys, steps, 0.5]
        sums, last = run(source, inputs, shapes, [mx.float32] * 2, checked=checked, **options)
        state = np.zeros((rows, width))
        for t in range(steps):
            state = 0.5 * state + np.outer(np.array(x)[t], np.array(keys)[t])
            np.testing.assert_allclose(np.array(sums)[t], state.sum(axis=1), atol=1e-4)
        np.testing.assert_allclose(np.array(last), state, atol=1e-5)


def test_math_modes(run):
    source = """
        #if defined(__FAST_MATH__) && __FAST_MATH__
        out[0] = 1;
        #else
        out[0] = 0;
        #endif
        out[1] = metal::exp(a);
    """
    for mode, fast in [("safe", 0), ("relaxed", 0), ("fast", 1)]:
        options = {"compile_options": {"math_mode": mode}, "grid": 1}
        (out,) = run(source, [-np.inf], [(2,)], ["float32"], **options)
        assert out.tolist() == [fast, 0]


def test_one_kernel_accepts_every_type(run):
    kernel = metal_kernel(
        "mixed", ["x"], ["y"], "uint i = thread_position_in_grid.x; y[i] = x[i] + x[i];"
    )
    for size in (3, 40):
        for dtype in (np.float16, np.float32, np.int8, np.float16):
            x = np.arange(size).astype(dtype)
            (y,) = kernel(
                inputs=[x],
                grid=(size, 1, 1),
                threadgroup=(32, 1, 1),
                output_shapes=[x.shape],
                output_dtypes=[dtype],
                stream=mx.cpu,
            )
            np.testing.assert_array_equal(y, 2 * x)
    assert len(kernel._pipelines) == 6  # three types, in constant or device memory
    assert repr(kernel) == "<metal_kernel mixed on cpu>"


def test_kernels_of_one_name_do_not_mix(run):
    x = np.arange(10, dtype=np.float32)
    for source, expected in [("out[0] = a[9] * 2;", 18), ("out[0] = a[9] + 100;", 109)]:
        assert run(source, [x], [(1,)], ["float32"], grid=1)[0] == expected


def test_results_agree_bit_for_bit(run):
    a = np.random.default_rng(3).normal(size=3000).astype(np.float32)
    source = "uint i = thread_position_in_grid.x; out[i] = metal::tanh(simd_sum(a[i]));"
    first, second = (run(source, [a], [(3000,)], ["float32"], grid=3000)[0] for _ in range(2))
    assert first.tobytes() == second.tobytes()
