"""One step of a long short-term memory: gates from input and last output, then cell and output."""

import mlx.core as mx
import numpy as np
import scipy.special

from metalbench.task import coarse, even, normal, output, sparse, task

GENTLE = (even(), coarse(), sparse())


def stepped(x, h, cell, w_x, w_h, bias):
    """Gates in the order input, forget, candidate, output."""
    gates = x @ w_x.T + h @ w_h.T + bias
    first, forget, candidate, last = np.split(gates, 4, axis=-1)
    kept = scipy.special.expit(forget) * cell
    left = kept + scipy.special.expit(first) * np.tanh(candidate)
    return scipy.special.expit(last) * np.tanh(left), left


def magnitude(x, h, cell, w_x, w_h, bias):
    """Sums of absolute terms of the gates, times the slopes of what they go through."""
    gates = np.abs(x) @ np.abs(w_x).T + np.abs(h) @ np.abs(w_h).T + np.abs(bias)
    first, forget, candidate, last = np.split(gates, 4, axis=-1)
    left = np.abs(cell) * (1 + forget / 4) + first / 4 + candidate + 1
    return left + last / 4, left


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
        cell=normal("batch", "units"),
        w_x=normal("4 * units", "inputs", deviation=0.1).only(*GENTLE),
        w_h=normal("4 * units", "units", deviation=0.1).only(*GENTLE),
        bias=normal("4 * units").only(*GENTLE),
    ),
    outputs=dict(y=output("batch", "units"), left=output("batch", "units")),
    oracle=stepped,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="8 * batch * units * (inputs + units)",
    baseline="mx.addmm twice, split, activations",
)
def lstm_cell(x, h, cell, w_x, w_h, bias):
    gates = mx.addmm(mx.addmm(bias, x, w_x.T), h, w_h.T)
    first, forget, candidate, last = mx.split(gates, 4, axis=-1)
    left = mx.sigmoid(forget) * cell + mx.sigmoid(first) * mx.tanh(candidate)
    return mx.sigmoid(last) * mx.tanh(left), left
