"""Convolution of three taps three apart, as large as the sequence."""

from metalbench.task.families import ConvolutionGeometry, convolution_task

conv1d_dilated = convolution_task(
    "conv1d_dilated",
    "Convolution of three taps three apart, as large as the sequence.",
    ConvolutionGeometry(3, padding=3, dilation=3),
    sizes=dict(
        small=dict(batch=1, length=16, channels=8, filters=16),
        odd1=dict(batch=2, length=37, channels=5, filters=7),
        odd2=dict(batch=1, length=9, channels=33, filters=37),
        seed=dict(batch=2, length=128, channels=64, filters=64),
        large=dict(batch=16, length=2048, channels=512, filters=512),
    ),
)
