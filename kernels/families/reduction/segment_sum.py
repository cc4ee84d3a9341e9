"""Sums of runs of rows that offsets delimit, of any length."""

import itertools
from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task
from metalbench.task.families import FLOATING


def drawn(random, shape, values):
    """Where runs begin, the last end too: a few long ones, many short, some empty."""
    ends = random.integers(0, values["rows"] + 1, shape[0] - 2)
    ends[: len(ends) // 4] = values["rows"] // 2
    return np.sort(np.concatenate([[0], ends, [values["rows"]]])).astype(np.uint32)


ragged = replace(integers("segments + 1", high="rows"), draw=drawn, together=True)


def sums_of_runs(x, offsets):
    """Run by run."""
    bounds = offsets.astype(np.int64)
    runs = itertools.pairwise(bounds)
    return np.stack([x[first:end].sum(axis=0) for first, end in runs])


@task(
    sizes=dict(
        small=dict(rows=64, cols=32, segments=9),
        odd1=dict(rows=101, cols=33, segments=37),
        odd2=dict(rows=13, cols=130, segments=40),
        seed=dict(rows=4096, cols=256, segments=128),
        large=dict(rows=65536, cols=512, segments=2048),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols"), offsets=ragged),
    outputs=dict(y=output("segments", "cols")),
    oracle=lambda x, offsets: sums_of_runs(x, offsets),
    scale=lambda x, offsets: sums_of_runs(np.abs(x), offsets),
    dtypes=FLOATING,
    flops="rows * cols",
    baseline="mx.zeros.at[ids].add",
)
def segment_sum(x, offsets):
    segments = len(offsets) - 1
    ids = mx.searchsorted(offsets[1:], mx.arange(len(x), dtype=mx.uint32), side="right")
    return mx.zeros((segments, x.shape[1]), x.dtype).at[ids].add(x)
