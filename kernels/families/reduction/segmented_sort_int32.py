"""Segments of every row of int32 in ascending order, of any number and lengths."""

from metalbench.task import integers, output, task
from metalbench.task.families import SEGMENTED_ROWS, cuts_of_rows, mlx_sort_segments, sort_segments


@task(
    sizes=SEGMENTED_ROWS,
    gpu_headlines=("large",),
    inputs=dict(
        x=integers("rows", "cols", low=-1000, high=1000, dtype="int32"),
        offsets=cuts_of_rows("rows", "segments + 1", cols="cols"),
    ),
    outputs=dict(y=output("rows", "cols", dtype="int32")),
    oracle=sort_segments,
    flops="15 * rows * cols",
    baseline="mx.argsort twice",
)
def segmented_sort_int32(x, offsets):
    return mlx_sort_segments(x, offsets)
