"""One step of a gated recurrent unit: two gates, a candidate that one of them resets, a mixture."""

import mlx.core as mx
import numpy as np
import scipy.special

from metalbench.task import coarse, even, normal, output, sparse, task

GENTLE = (even(), coarse(), sparse())


def stepped(x, h, w_x, w_h, bias, bias_h):
    """Gates in the order reset, update, candidate; the candidate's state has a separate bias."""
    given = np.split(x @ w_x.T + bias, 3, axis=-1)
    kept = np.split(h @ w_h.T, 3, axis=-1)
    reset, update = (scipy.special.expit(given[i] + kept[i]) for i in range(2))
    candidate = np.tanh(given[2] + reset * (kept[2] + bias_h))
    return (1 - update) * candidate + update * h


def magnitude(x, h, w_x, w_h, bias, bias_h):
    """Sums of absolute terms, times the slopes of what they go through."""
    given = np.split(np.abs(x) @ np.abs(w_x).T + np.abs(bias), 3, axis=-1)
    kept = np.split(np.abs(h) @ np.abs(w_h).T, 3, axis=-1)
    own = kept[2] + np.abs(bias_h)
    reset, update = (1 + (given[i] + kept[i]) / 4 for i in range(2))
    return (1 + np.abs(h)) * update + given[2] + own * reset


@task(
    sizes=dict(
        small=dict(batch=4, inputs=16, units=32),
        odd1=dict(batch=3, inputs=29, units=37),
        odd2=dict(batch=37, inputs=7, units=67),
        seed=dict(batch=8, inputs=512, units=256),
        large=dict(batch=256, inputs=1024, units=1024),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("batch", "inputs").only(*GENTLE),
        h=normal("batch", "units", deviation=0.5).only(*GENTLE),
        w_x=normal("3 * units", "inputs", deviation=0.1).only(*GENTLE),
        w_h=normal("3 * units", "units", deviation=0.1).only(*GENTLE),
        bias=normal("3 * units").only(*GENTLE),
        bias_h=normal("units").only(*GENTLE),
    ),
    outputs=dict(y=output("batch", "units")),
    oracle=stepped,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="6 * batch * units * (inputs + units)",
    baseline="mx.addmm, matmul, activations",
)
def gru_cell(x, h, w_x, w_h, bias, bias_h):
    given = mx.split(mx.addmm(bias, x, w_x.T), 3, axis=-1)
    kept = mx.split(h @ w_h.T, 3, axis=-1)
    reset, update = (mx.sigmoid(given[i] + kept[i]) for i in range(2))
    candidate = mx.tanh(given[2] + reset * (kept[2] + bias_h))
    return (1 - update) * candidate + update * h
