"""Logarithms of a spectrum's power in bands: what speech recognisers hear."""

import mlx.core as mx
import numpy as np

from metalbench.task import output, positive, task, uniform

EPS = 1e-5


@task(
    sizes=dict(
        small=dict(frames=16, bins=33, bands=8),
        odd1=dict(frames=37, bins=65, bands=23),
        odd2=dict(frames=5, bins=129, bands=67),
        seed=dict(frames=1000, bins=201, bands=80),
        large=dict(frames=96000, bins=201, bands=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(power=positive("frames", "bins"), filters=uniform("bins", "bands")),
    outputs=dict(y=output("frames", "bands")),
    oracle=lambda power, filters: np.log(power @ filters + EPS),
    # An error of the sum is as large in its logarithm as the sum's relative one.
    scale=lambda power, filters: 1 + np.abs(np.log(power @ filters + EPS)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * frames * bins * bands + 2 * frames * bands",
    baseline="mx.log(power @ filters + eps)",
)
def mel_filterbank(power, filters):
    return mx.log(power @ filters + EPS)
