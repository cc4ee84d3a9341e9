"""Rows of a table that become the largest of their updates: y[i[j]] = max(y[i[j]], values[j])."""

import numpy as np

from metalbench.task.families import scatter_updates

scatter_max = scatter_updates(
    "scatter_max",
    lambda x, index, values: x.at[index].maximum(values),
    np.maximum,
    baseline="x.at[index].maximum",
)
