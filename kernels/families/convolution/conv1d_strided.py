"""Convolution of three taps at every second position, as a speech encoder begins."""

from metalbench.task.families import ConvolutionGeometry, convolution_task

conv1d_strided = convolution_task(
    "conv1d_strided",
    "Convolution of three taps at every second position, as a speech encoder begins.",
    ConvolutionGeometry(3, stride=2, padding=1),
    sizes=dict(
        small=dict(batch=1, length=16, channels=8, filters=16),
        odd1=dict(batch=2, length=37, channels=5, filters=7),
        odd2=dict(batch=1, length=9, channels=33, filters=37),
        seed=dict(batch=2, length=128, channels=64, filters=64),
        large=dict(batch=8, length=3000, channels=1280, filters=1280),
    ),
)
