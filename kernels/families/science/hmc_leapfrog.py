"""Eight leapfrog steps of Hamiltonian Monte Carlo for many chains of a logistic regression."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, integers, normal, output, sparse, task

STATE = ("dims", "chains")
GENTLE = (even(), coarse(), sparse())


def advanced(xp, x, labels, weights, momenta, step, steps):
    """Return weights, momenta and the energies before and after, with functions of NumPy or MLX."""
    labels = labels[:, None] * xp.ones_like(x[:, :1])

    def energy():
        logits = x @ weights
        losses = xp.logaddexp(logits, xp.zeros_like(logits)) - labels * logits
        return losses.sum(axis=0) + 0.5 * ((weights**2).sum(axis=0) + (momenta**2).sum(axis=0))

    def kicked(by):
        logits = x @ weights
        rates = 1 / (1 + xp.exp(-logits))
        return momenta - by * (x.T @ (rates - labels) + weights)

    before = energy()
    momenta = kicked(step / 2)
    for i in range(steps):
        weights = weights + step * momenta
        momenta = kicked(step if i + 1 < steps else step / 2)
    return weights, momenta, xp.stack([before, energy()])


def magnitude(x, labels, weights, momenta, step, steps):
    """Return magnitudes of the state, with all terms positive, and the energies, which are."""
    energies = advanced(np, x, labels, weights, momenta, step, steps)[-1]
    x, weights, momenta = np.abs(x), np.abs(weights), np.abs(momenta)
    momenta = momenta + step * steps * (x.sum(axis=0)[:, None] + weights)
    return weights + step * steps * momenta, momenta, energies


@task(
    sizes=dict(
        small=dict(points=40, chains=100),
        odd1=dict(points=129, chains=37),
        odd2=dict(points=7, chains=301),
        seed=dict(points=256, chains=512),
        large=dict(points=256, chains=65536),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        # An enlarged point would need shorter steps.
        x=replace(normal("points", "dims").only(), together=True, exchangeable=False),
        labels=integers("points", high=2, dtype="uint8"),
        weights=normal(*STATE).only(*GENTLE),
        momenta=normal(*STATE).only(*GENTLE),
    ),
    outputs=dict(y_weights=output(*STATE), y_momenta=output(*STATE), energies=output(2, "chains")),
    constants=dict(step=0.02, dims=16, steps=8),
    oracle=lambda x, labels, weights, momenta, step, dims, steps: advanced(
        np, x, labels, weights, momenta, step, steps
    ),
    scale=lambda x, labels, weights, momenta, step, dims, steps: magnitude(
        x, labels, weights, momenta, step, steps
    ),
    flops="(4 * dims + 20) * (steps + 1) * points * chains",
    baseline="two products of matrices a step",
)
def hmc_leapfrog(x, labels, weights, momenta, step, dims, steps):
    return advanced(mx, x, labels, weights, momenta, step, steps)
