"""A sparse matrix with compressed rows (CSR) times a vector."""

import mlx.core as mx

from metalbench.task import output, task
from metalbench.task.families import FLOATING
from metalbench.task.sparse_matrices import csr_inputs, csr_magnitude, multiply_csr


@task(
    sizes=dict(
        small=dict(rows=100, cols=80, nonzeros=900),
        odd1=dict(rows=37, cols=1023, nonzeros=4001),
        odd2=dict(rows=301, cols=7, nonzeros=150),
        seed=dict(rows=16384, cols=16384, nonzeros=262144),
        large=dict(rows=524288, cols=524288, nonzeros=8388608),
    ),
    gpu_headlines=("large",),
    inputs=csr_inputs("cols"),
    outputs=dict(y=output("rows")),
    oracle=multiply_csr,
    scale=csr_magnitude,
    dtypes=FLOATING,
    flops="2 * nonzeros",
    baseline="mx.zeros.at[rows].add(values * x[columns])",
)
def csr_spmv(offsets, columns, values, x):
    places = mx.arange(len(values), dtype=mx.uint32)
    row = mx.searchsorted(offsets[1:], places, side="right")
    y = mx.zeros(len(offsets) - 1)
    terms = values.astype(mx.float32) * x[columns].astype(mx.float32)
    return y.at[row].add(terms).astype(x.dtype)
