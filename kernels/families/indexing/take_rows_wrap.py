"""Rows of a table by signed indices, which are wrapped around at its ends."""

import numpy as np

from metalbench.task.families import table_rows

take_rows_wrap = table_rows(
    "take_rows_wrap",
    lambda x, index: x[index % len(x)],
    lambda x, index: np.take(x, index, axis=0, mode="wrap"),
    baseline="x[index % len(x)]",
)
