"""Examples of MLX's documentation: an elementwise kernel, strided inputs, and grid sampling."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from metalbench import metal_kernel

EXP = """
    uint i = thread_position_in_grid.x;
    T x = inp[i];
    out[i] = metal::exp(x);
"""
EXP_STRIDED = """
    uint i = thread_position_in_grid.x;
    uint at = elem_to_loc(i, inp_shape, inp_strides, inp_ndim);
    T x = inp[at];
    out[i] = metal::exp(x);
"""


def exp(a, source, *, contiguous):
    kernel = metal_kernel("exp", ["inp"], ["out"], source, ensure_row_contiguous=contiguous)
    (out,) = kernel(
        inputs=[a],
        template=[("T", mx.float32)],
        grid=(a.size, 1, 1),
        threadgroup=(256, 1, 1),
        output_shapes=[a.shape],
        output_dtypes=[a.dtype],
    )
    return out


@pytest.mark.parametrize(("source", "contiguous"), [(EXP, True), (EXP_STRIDED, False)])
@pytest.mark.parametrize("cut", [slice(None), slice(None, None, 2), slice(1, 3)])
def test_exp_of_any_layout(source, contiguous, cut):
    a = mx.random.normal((4, 16), key=mx.random.key(1)).astype(mx.float16)[cut]
    out = exp(a, source, contiguous=contiguous)
    assert isinstance(out, mx.array)
    assert out.dtype == mx.float16
    expected = np.exp(np.array(a).astype(np.float64))
    # Half a unit in the last place of the result, and a little for exp itself.
    np.testing.assert_allclose(np.array(out), expected, rtol=0.51 * 2.0**-10)


def test_a_kernel_without_copies_reads_the_strided_memory():
    a = mx.arange(12, dtype=mx.float32).reshape(3, 4)
    out = exp(a.T, EXP, contiguous=False)
    np.testing.assert_allclose(np.array(out).ravel(), np.exp(np.arange(12.0)), rtol=1e-6)


# Bilinear sampling: the four corners around a point, each with the weight of the opposite area.
CORNERS = """
template <typename T>
struct Corners {
    int x0, y0;
    T fx, fy;
    Corners(T u, T v, int width, int height) {
        T x = ((u + 1) * width - 1) / 2, y = ((v + 1) * height - 1) / 2;
        x0 = metal::floor(x);
        y0 = metal::floor(y);
        fx = x - x0;
        fy = y - y0;
    }
    T weight(int corner) const { return (corner & 1 ? fx : 1 - fx) * (corner & 2 ? fy : 1 - fy); }
    int x(int corner) const { return x0 + (corner & 1); }
    int y(int corner) const { return y0 + corner / 2; }
};
"""
FORWARD = """
    uint i = thread_position_in_grid.x;
    int height = x_shape[1], width = x_shape[2], channels = x_shape[3];
    int point = i / channels, channel = i % channels;
    int image = point / (grid_shape[1] * grid_shape[2]);
    Corners<T> at(grid[2 * point], grid[2 * point + 1], width, height);
    T sum = 0;
    for (int c = 0; c < 4; ++c) {
        int px = at.x(c), py = at.y(c);
        if (px < 0 || px >= width || py < 0 || py >= height) continue;
        sum += at.weight(c) * x[((image * height + py) * width + px) * channels + channel];
    }
    out[i] = sum;
"""
# A SIMD-group serves one point, so that the sum over its channels needs one atomic.
BACKWARD = """
    uint i = thread_position_in_grid.x;
    int height = x_shape[1], width = x_shape[2], channels = x_shape[3];
    int padded = ceildiv(channels, threads_per_simdgroup) * threads_per_simdgroup;
    int point = i / padded, channel = i % padded;
    int image = point / (grid_shape[1] * grid_shape[2]);
    Corners<T> at(grid[2 * point], grid[2 * point + 1], width, height);
    T du = 0, dv = 0;
    for (int c = 0; c < 4 && channel < channels; ++c) {
        int px = at.x(c), py = at.y(c);
        if (px < 0 || px >= width || py < 0 || py >= height) continue;
        int offset = ((image * height + py) * width + px) * channels + channel;
        T grad = cotangent[point * channels + channel];
        atomic_fetch_add_explicit(&x_grad[offset], at.weight(c) * grad, memory_order_relaxed);
        du += (c & 1 ? 1 : -1) * (c & 2 ? at.fy : 1 - at.fy) * x[offset] * grad;
        dv += (c & 2 ? 1 : -1) * (c & 1 ? at.fx : 1 - at.fx) * x[offset] * grad;
    }
    du = simd_sum(du) * width / 2;
    dv = simd_sum(dv) * height / 2;
    if (thread_index_in_simdgroup == 0) {
        atomic_fetch_add_explicit(&grid_grad[2 * point], du, memory_order_relaxed);
        atomic_fetch_add_explicit(&grid_grad[2 * point + 1], dv, memory_order_relaxed);
    }
"""

forward = metal_kernel("grid_sample", ["x", "grid"], ["out"], FORWARD, CORNERS)
backward = metal_kernel(
    "grid_sample_grad",
    ["x", "grid", "cotangent"],
    ["x_grad", "grid_grad"],
    BACKWARD,
    CORNERS,
    atomic_outputs=True,
)


@mx.custom_function
def grid_sample(x, grid):
    shape = (*grid.shape[:3], x.shape[3])
    (out,) = forward(
        inputs=[x, grid],
        template=[("T", x.dtype)],
        output_shapes=[shape],
        output_dtypes=[x.dtype],
        grid=(np.prod(shape), 1, 1),
        threadgroup=(256, 1, 1),
    )
    return out


@grid_sample.vjp
def _(primals, cotangent, _):
    x, grid = primals
    padded = (x.shape[3] + 31) // 32 * 32
    return backward(
        inputs=[x, grid, cotangent],
        template=[("T", x.dtype)],
        output_shapes=[x.shape, grid.shape],
        output_dtypes=[x.dtype, x.dtype],
        grid=(grid.size // 2 * padded, 1, 1),
        threadgroup=(256, 1, 1),
        init_value=0,
    )


def composed(x, grid):
    """Grid sampling out of MLX's own operations, which MLX can differentiate."""
    height, width = x.shape[1:3]
    ix = ((grid[..., 0] + 1) * width - 1) / 2
    iy = ((grid[..., 1] + 1) * height - 1) / 2
    images = mx.arange(x.shape[0])[:, None, None]
    total = 0
    for corner in range(4):
        px = mx.floor(mx.stop_gradient(ix)).astype(mx.int32) + corner % 2
        py = mx.floor(mx.stop_gradient(iy)).astype(mx.int32) + corner // 2
        inside = (px >= 0) & (px < width) & (py >= 0) & (py < height)
        values = x[images, mx.clip(py, 0, height - 1), mx.clip(px, 0, width - 1)]
        weight = (1 - mx.abs(ix - px)) * (1 - mx.abs(iy - py)) * inside
        total = total + weight[..., None] * values
    return total


@pytest.mark.parametrize("channels", [3, 32, 40])
def test_grid_sample_and_its_gradient(channels):
    keys = mx.random.split(mx.random.key(2), 3)
    x = mx.random.normal((2, 7, 5, channels), key=keys[0])
    # Some points lie outside of the image.
    grid = mx.random.uniform(-1.2, 1.2, (2, 4, 6, 2), key=keys[1])
    cotangent = mx.random.normal((2, 4, 6, channels), key=keys[2])
    (got,), gradients = mx.vjp(grid_sample, [x, grid], [cotangent])
    with mx.stream(mx.cpu):
        (expected,), expected_gradients = mx.vjp(composed, [x, grid], [cotangent])
    np.testing.assert_allclose(np.array(got), np.array(expected), atol=1e-5)
    for mine, theirs in zip(gradients, expected_gradients, strict=True):
        assert float(mx.abs(theirs).max()) > 1
        np.testing.assert_allclose(np.array(mine), np.array(theirs), rtol=1e-4, atol=1e-4)
