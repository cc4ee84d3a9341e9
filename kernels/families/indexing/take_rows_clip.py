"""Rows of a table by signed indices, of which those beyond the ends give the nearest row."""

import mlx.core as mx
import numpy as np

from metalbench.task.families import table_rows

take_rows_clip = table_rows(
    "take_rows_clip",
    lambda x, index: x[mx.clip(index, 0, len(x) - 1)],
    lambda x, index: np.take(x, index, axis=0, mode="clip"),
    baseline="x[mx.clip(index)]",
)
