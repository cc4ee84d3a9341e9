"""The log-mel spectrogram of a sound, from samples to bands: what Whisper hears."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task, uniform
from metalbench.task.families import mlx_power, power_magnitude, power_spectrum


def heard(x, window, filters, eps):
    """Logarithms of the bands' powers."""
    return np.log(power_spectrum(x, window) @ filters + eps)


def magnitude(x, window, filters, eps):
    """An error of a band's power is relative to it in the logarithm."""
    return 1 + (power_magnitude(x, window) @ filters) / (power_spectrum(x, window) @ filters + eps)


@task(
    sizes=dict(
        small=dict(frames=4, bands=16),
        odd1=dict(frames=7, bands=23),
        odd2=dict(frames=37, bands=5),
        seed=dict(frames=300, bands=80),
        large=dict(frames=30000, bands=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("(frames - 1) * 160 + 400").only(even(), coarse(), sparse()),
        window=uniform(400, low=0.1),
        filters=uniform(201, "bands"),
    ),
    outputs=dict(y=output("frames", "bands")),
    constants=dict(eps=1e-5),
    oracle=heard,
    scale=magnitude,
    flops="frames * (20000 + 402 * bands)",
    baseline="mx.as_strided, mx.fft.rfft, matmul, mx.log",
)
def log_mel(x, window, filters, eps):
    return mx.log(mlx_power(x, window) @ filters + eps)
