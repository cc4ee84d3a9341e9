"""Segments of every row in ascending order, of any number and lengths."""

import math

from metalbench.task import coarse, output, shifted, task, tied, with_special
from metalbench.task.families import SEGMENTED_ROWS, cuts_of_rows, mlx_sort_segments, sort_segments


@task(
    sizes=SEGMENTED_ROWS,
    gpu_headlines=("large",),
    inputs=dict(
        x=tied("rows", "cols").also(
            shifted(-0.5), coarse(), with_special(math.inf, -math.inf, math.nan)
        ),
        offsets=cuts_of_rows("rows", "segments + 1", cols="cols"),
    ),
    outputs=dict(y=output("rows", "cols")),
    oracle=sort_segments,
    flops="15 * rows * cols",
    baseline="mx.argsort twice",
)
def segmented_sort(x, offsets):
    return mlx_sort_segments(x, offsets)
