"""Convolution of 3 x 3 taps in four groups of channels, as large as the image."""

from metalbench.task.families import ConvolutionGeometry, convolution_task

conv2d_grouped = convolution_task(
    "conv2d_grouped",
    "Convolution of 3 x 3 taps in four groups of channels, as large as the image.",
    ConvolutionGeometry(3, padding=1, groups=4),
    sizes=dict(
        small=dict(batch=1, height=8, width=10, channels=4, filters=4),
        odd1=dict(batch=2, height=9, width=7, channels=3, filters=5),
        odd2=dict(batch=1, height=23, width=5, channels=5, filters=9),
        seed=dict(batch=2, height=32, width=32, channels=16, filters=16),
        large=dict(batch=16, height=128, width=128, channels=32, filters=32),
    ),
)
