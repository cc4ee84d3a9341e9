"""Solutions of many tridiagonal systems, equation i of all systems beside each other."""

from metalbench.task import output, task
from metalbench.task.tridiagonal import (
    reduce_cyclically,
    solve_absolute_terms,
    solve_tridiagonal,
    tridiagonal_inputs,
)


@task(
    sizes=dict(
        small=dict(n=16, systems=100),
        odd1=dict(n=37, systems=129),
        odd2=dict(n=1, systems=67),
        odd3=dict(n=301, systems=5),
        seed=dict(n=128, systems=4096),
        large=dict(n=256, systems=65536),
    ),
    gpu_headlines=("large",),
    inputs=tridiagonal_inputs("n", "systems"),
    outputs=dict(y=output("n", "systems")),
    oracle=solve_tridiagonal,
    scale=solve_absolute_terms,
    flops="8 * n * systems",
    baseline="parallel cyclic reduction of shifted arrays",
)
def tridiagonal_columns(lower, diagonal, upper, right):
    return reduce_cyclically(lower, diagonal, upper, right, 0)
