"""A layer of a language model, as model code has them: a kernel if there is Metal, else operations.

h_t = g_t h_{t-1} + k_t v_t', y_t = q_t h_t, for each head.
"""

from __future__ import annotations

from functools import partial

import mlx.core as mx

SOURCE = """
    auto lane = thread_position_in_threadgroup.x;
    auto column = thread_position_in_grid.y;
    auto head = thread_position_in_grid.z;
    constexpr int per_lane = Dk / 32;
    float h[per_lane];
    for (int i = 0; i < per_lane; ++i)
        h[i] = state_in[(head * Dv + column) * Dk + lane * per_lane + i];
    for (int t = 0; t < T; ++t) {
        auto row = head * T + t;
        float value = v[row * Dv + column], gate = g[row], sum = 0;
        for (int i = 0; i < per_lane; ++i) {
            auto at = row * Dk + lane * per_lane + i;
            h[i] = gate * h[i] + value * static_cast<float>(k[at]);
            sum += h[i] * static_cast<float>(q[at]);
        }
        sum = simd_sum(sum);
        if (thread_index_in_simdgroup == 0) y[row * Dv + column] = static_cast<InT>(sum);
    }
    for (int i = 0; i < per_lane; ++i)
        state_out[(head * Dv + column) * Dk + lane * per_lane + i] = h[i];
"""


def _make_kernel():
    if not mx.metal.is_available():
        return None
    return mx.fast.metal_kernel(
        name="retention",
        input_names=["q", "k", "v", "g", "state_in", "T"],
        output_names=["y", "state_out"],
        source=SOURCE,
    )


_kernel = _make_kernel()


@partial(mx.compile, shapeless=True)
def gate(a, bias):
    """Between 0 and 1."""
    return mx.sigmoid(a.astype(mx.float32) + bias)


def retention_ops(q, k, v, g, state):
    """Compute the layer by MLX's operations, a step at a time."""
    ys = []
    for t in range(q.shape[1]):
        state = g[:, t, None, None] * state + v[:, t, :, None] * k[:, t, None, :]
        ys.append((state * q[:, t, None, :]).sum(axis=-1))
    return mx.stack(ys, axis=1).astype(q.dtype), state


def retention_kernel(q, k, v, g, state):
    """Compute the layer by the kernel: a SIMD-group for each column of the state."""
    heads, length, key_dims = q.shape
    value_dims = v.shape[-1]
    return _kernel(
        inputs=[q, k, v, g, state, length],
        template=[("InT", q.dtype), ("Dk", key_dims), ("Dv", value_dims)],
        grid=(32, value_dims, heads),
        threadgroup=(32, 4, 1),
        output_shapes=[v.shape, state.shape],
        output_dtypes=[q.dtype, mx.float32],
    )


def retention(q, k, v, a, bias, state=None):
    """Outputs and the state after them."""
    if state is None:
        state = mx.zeros((q.shape[0], v.shape[-1], q.shape[-1]), dtype=mx.float32)
    g = gate(a, bias)
    if mx.default_device() != mx.gpu or not mx.metal.is_available():
        return retention_ops(q, k, v, g, state)
    return retention_kernel(q, k, v, g, state)


@mx.compile
def retention_step(q, k, v, a, bias, state):
    """One more token."""
    return retention(q, k, v, a, bias, state)
