"""Power spectra of a sound: windowed frames of 400 samples, every 160."""

from metalbench.task import coarse, even, normal, output, sparse, task, uniform
from metalbench.task.families import mlx_power, power_magnitude, power_spectrum


@task(
    sizes=dict(
        small=dict(frames=4),
        odd1=dict(frames=7),
        odd2=dict(frames=37),
        seed=dict(frames=500),
        large=dict(frames=30000),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("(frames - 1) * 160 + 400").only(even(), coarse(), sparse()), window=uniform(400)
    ),
    outputs=dict(y=output("frames", 201)),
    oracle=power_spectrum,
    scale=power_magnitude,
    flops="frames * 20000",
    baseline="mx.as_strided, mx.fft.rfft, mx.abs, mx.square",
)
def stft_power(x, window):
    return mlx_power(x, window)
