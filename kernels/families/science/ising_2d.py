"""Two sweeps of the Ising model on a torus at its critical temperature, by checkerboard."""

import math
from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task, threefry

# Onsager's critical temperature: beta = log(1 + sqrt(2)) / 2. Flipping a spin of which the sum of
# neighbours is k has the probability exp(-2 beta k), in units of 2^-32.
BETA = math.log(1 + math.sqrt(2)) / 2
ACCEPT_TWO, ACCEPT_FOUR = (int(2**32 * math.exp(-2 * BETA * k)) for k in (2, 4))


def drawn(random, shape, values):
    """Spins of 1 and -1."""
    return (2 * random.integers(0, 2, shape) - 1).astype(np.int8)


def swept(xp, bits, spins, keys, accept_two, accept_four, sweeps):
    """Return the spins after `sweeps`, with functions of NumPy or MLX; bits(key, count) draws."""
    rows, cols = spins.shape
    spins = spins.astype(xp.int32)
    colour = (xp.arange(rows)[:, None] + xp.arange(cols)) % 2
    for half in range(2 * sweeps):
        words = bits(keys[half], rows * cols // 2).reshape(rows, cols // 2)
        words = xp.repeat(words, 2, axis=1)
        near = sum(xp.roll(spins, by, axis) for axis in (0, 1) for by in (1, -1))
        aligned = spins * near
        accepted = xp.where(aligned == 2, words < accept_two, words < accept_four)
        flips = (colour == half % 2) & ((aligned <= 0) | accepted)
        spins = xp.where(flips, -spins, spins)
    return spins.astype(xp.int8)


@task(
    sizes=dict(
        small=dict(rows=16, cols=40),
        odd1=dict(rows=38, cols=68),
        odd2=dict(rows=2, cols=132),
        seed=dict(rows=512, cols=512),
        large=dict(rows=4096, cols=4096),
    ),
    gpu_headlines=("large",),
    multiples=dict(rows=2, cols=4),
    inputs=dict(
        spins=replace(integers("rows", "cols", high=2, dtype="int8"), draw=drawn),
        keys=integers("2 * sweeps", 2, high=4294967296),
    ),
    outputs=dict(y=output("rows", "cols", dtype="int8")),
    constants=dict(accept_two=ACCEPT_TWO, accept_four=ACCEPT_FOUR, sweeps=2),
    oracle=lambda spins, keys, accept_two, accept_four, sweeps: swept(
        np, threefry.words, spins, keys, accept_two, accept_four, sweeps
    ),
    flops="sweeps * 50 * rows * cols",
    bytes="(2 * sweeps + 1) * 2 * rows * cols",
    baseline="Threefry and sums of rolled spins, for each colour",
)
def ising_2d(spins, keys, accept_two, accept_four, sweeps):
    def bits(key, count):
        half = count // 2
        first = mx.arange(half, dtype=mx.uint32)
        return mx.concatenate(threefry.encrypt(first, first + half, key[0], key[1]))

    return swept(mx, bits, spins, keys, accept_two, accept_four, sweeps)
