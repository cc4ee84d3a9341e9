"""Rows added to those of a table that indices name: y = x, then y[index[i]] += values[i]."""

import numpy as np

from metalbench.task.families import scatter_updates

scatter_add = scatter_updates(
    "scatter_add",
    lambda x, index, values: x.at[index].add(values),
    np.add,
    baseline="x.at[index].add",
    sums_up=True,
)
