"""One step of a long short-term memory, from the sums of its gates."""

import mlx.core as mx
import numpy as np
from scipy.special import expit

from metalbench.task import normal, output, task


def stepped(gates, cell):
    """Gates in the order input, forget, candidate, output."""
    i, f, g, o = np.split(gates, 4, axis=-1)
    cell = expit(f) * cell + expit(i) * np.tanh(g)
    return expit(o) * np.tanh(cell), cell


def magnitude(gates, cell):
    """The terms of the cell, of which the result is a part."""
    i, f, g, _ = np.split(gates, 4, axis=-1)
    whole = expit(f) * np.abs(cell) + expit(i) * np.abs(np.tanh(g))
    return whole, whole


@task(
    sizes=dict(
        small=dict(batch=8, hidden=64),
        odd1=dict(batch=5, hidden=37),
        odd2=dict(batch=3, hidden=513),
        seed=dict(batch=256, hidden=1024),
        large=dict(batch=4096, hidden=2048),
    ),
    gpu_headline="large",
    inputs=dict(gates=normal("batch", "4 * hidden"), cell=normal("batch", "hidden")),
    outputs=dict(h=output("batch", "hidden"), c=output("batch", "hidden")),
    oracle=stepped,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="20 * batch * hidden",
    baseline="mx.split, sigmoid, tanh",
)
def lstm_cell(gates, cell):
    i, f, g, o = mx.split(gates, 4, axis=-1)
    cell = mx.sigmoid(f) * cell + mx.sigmoid(i) * mx.tanh(g)
    return mx.sigmoid(o) * mx.tanh(cell), cell
