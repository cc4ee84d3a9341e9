"""Rows of a table that become the smallest of their updates: y[i[j]] = min(y[i[j]], values[j])."""

import numpy as np

from metalbench.task.families import scatter_updates

scatter_min = scatter_updates(
    "scatter_min",
    lambda x, index, values: x.at[index].minimum(values),
    np.minimum,
    baseline="x.at[index].minimum",
)
