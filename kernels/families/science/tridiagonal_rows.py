"""Solutions of many tridiagonal systems, each of them a row."""

from metalbench.task import output, task
from metalbench.task.tridiagonal import (
    reduce_cyclically,
    solve_absolute_terms,
    solve_tridiagonal,
    tridiagonal_inputs,
)


def by_rows(solve):
    """Return a function that solves systems along the last axis."""
    return lambda lower, diagonal, upper, right: solve(lower.T, diagonal.T, upper.T, right.T).T


@task(
    sizes=dict(
        small=dict(systems=20, n=64),
        odd1=dict(systems=37, n=129),
        odd2=dict(systems=5, n=1),
        odd3=dict(systems=3, n=1021),
        seed=dict(systems=1024, n=512),
        large=dict(systems=16384, n=1024),
    ),
    gpu_headlines=("large",),
    inputs=tridiagonal_inputs("systems", "n"),
    outputs=dict(y=output("systems", "n")),
    oracle=by_rows(solve_tridiagonal),
    scale=by_rows(solve_absolute_terms),
    flops="8 * systems * n",
    baseline="parallel cyclic reduction of shifted arrays",
)
def tridiagonal_rows(lower, diagonal, upper, right):
    return reduce_cyclically(lower, diagonal, upper, right, 1)
