"""Transpose through 32 x 32 tiles in threadgroup memory: both sides move whole cache lines."""

import mlx.core as mx

TILE, HEIGHT = 32, 8
KERNEL = mx.fast.metal_kernel(
    name="transpose_2d",
    input_names=["x"],
    output_names=["y"],
    source="""
        threadgroup T tile[TILE][TILE + 1];
        const uint rows = x_shape[0], cols = x_shape[1];
        const uint across = thread_position_in_threadgroup.x;
        const uint2 corner = threadgroup_position_in_grid.xy * TILE;

        for (uint down = thread_position_in_threadgroup.y; down < TILE; down += HEIGHT) {
          const uint row = corner.y + down, col = corner.x + across;
          if (row < rows && col < cols) tile[down][across] = x[ulong(row) * cols + col];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint down = thread_position_in_threadgroup.y; down < TILE; down += HEIGHT) {
          const uint row = corner.x + down, col = corner.y + across;
          if (row < cols && col < rows) y[ulong(row) * rows + col] = tile[across][down];
        }
    """,
)


def transpose_2d(x):
    rows, cols = x.shape
    across, down = (cols + TILE - 1) // TILE, (rows + TILE - 1) // TILE
    return KERNEL(
        inputs=[x],
        template=[("T", x.dtype), ("TILE", TILE), ("HEIGHT", HEIGHT)],
        grid=(across * TILE, down * HEIGHT, 1),
        threadgroup=(TILE, HEIGHT, 1),
        output_shapes=[(cols, rows)],
        output_dtypes=[x.dtype],
    )[0]
