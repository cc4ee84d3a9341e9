"""A sparse matrix with compressed rows (CSR) times a dense matrix."""

import mlx.core as mx

from metalbench.task import output, task
from metalbench.task.families import FLOATING
from metalbench.task.sparse_matrices import csr_inputs, csr_magnitude, multiply_csr


@task(
    sizes=dict(
        small=dict(rows=50, cols=40, nonzeros=300, width=16),
        odd1=dict(rows=37, cols=129, nonzeros=1001, width=33),
        odd2=dict(rows=101, cols=7, nonzeros=90, width=5),
        seed=dict(rows=2048, cols=2048, nonzeros=32768, width=64),
        large=dict(rows=131072, cols=131072, nonzeros=2097152, width=64),
    ),
    gpu_headlines=("large",),
    inputs=csr_inputs("cols", "width"),
    outputs=dict(y=output("rows", "width")),
    oracle=multiply_csr,
    scale=csr_magnitude,
    dtypes=FLOATING,
    flops="2 * nonzeros * width",
    baseline="mx.zeros.at[rows].add(values * x[columns])",
)
def csr_spmm(offsets, columns, values, x):
    places = mx.arange(len(values), dtype=mx.uint32)
    row = mx.searchsorted(offsets[1:], places, side="right")
    y = mx.zeros((len(offsets) - 1, x.shape[1]))
    terms = values[:, None].astype(mx.float32) * x[columns].astype(mx.float32)
    return y.at[row].add(terms).astype(x.dtype)
