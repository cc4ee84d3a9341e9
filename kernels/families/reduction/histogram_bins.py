"""How often each value below any bound occurs, added to earlier counts."""

import numpy as np

from metalbench.task import integers, output, task
from metalbench.task.families import expert_indices


@task(
    sizes=dict(
        small=dict(n=1000, bins=100),
        odd1=dict(n=10007, bins=4096),
        odd2=dict(n=3001, bins=4097),
        one=dict(n=37, bins=1),
        seed=dict(n=262144, bins=1024),
        large=dict(n=16777216, bins=65536),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=expert_indices("n", high="bins"), earlier=integers("bins", high=1000)),
    outputs=dict(y=output("bins", dtype="uint32")),
    oracle=lambda x, earlier: earlier + np.bincount(x.astype(np.int64), minlength=len(earlier)),
    flops="n",
    baseline="earlier.at[x].add(1)",
)
def histogram_bins(x, earlier):
    return earlier.at[x].add(1)
