"""Row softmax: one threadgroup a row, which is read three times; sums are of floats."""

import mlx.core as mx

THREADS = 256
KERNEL = mx.fast.metal_kernel(
    name="softmax",
    input_names=["x"],
    output_names=["y"],
    source="""
        constexpr uint GROUPS = THREADS / 32;
        threadgroup float partial[GROUPS];
        const uint cols = x_shape[1], own = thread_position_in_threadgroup.x;
        const uint lane = thread_index_in_simdgroup, simdgroup = simdgroup_index_in_threadgroup;
        const ulong row = ulong(threadgroup_position_in_grid.x) * cols;

        float most = -INFINITY;
        for (uint i = own; i < cols; i += THREADS) most = max(most, float(x[row + i]));
        most = simd_max(most);
        if (lane == 0) partial[simdgroup] = most;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        most = simd_max(partial[lane % GROUPS]);

        float sum = 0;
        for (uint i = own; i < cols; i += THREADS) sum += exp(float(x[row + i]) - most);
        sum = simd_sum(sum);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // all have read the maxima
        if (lane == 0) partial[simdgroup] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum = simd_sum(lane < GROUPS ? partial[lane] : 0.0f);

        for (uint i = own; i < cols; i += THREADS)
          y[row + i] = T(exp(float(x[row + i]) - most) / sum);
    """,
)


def softmax(x):
    return KERNEL(
        inputs=[x],
        template=[("T", x.dtype), ("THREADS", THREADS)],
        grid=(x.shape[0] * THREADS, 1, 1),
        threadgroup=(THREADS, 1, 1),
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
    )[0]
