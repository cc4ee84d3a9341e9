"""Convolution of 3 x 3 taps two apart, at every second pixel, with a border of zeros."""

from metalbench.task.families import ConvolutionGeometry, convolution_task

conv2d_strided_dilated = convolution_task(
    "conv2d_strided_dilated",
    "Convolution of 3 x 3 taps two apart, at every second pixel, with a border of zeros.",
    ConvolutionGeometry(3, stride=2, padding=2, dilation=2),
    sizes=dict(
        small=dict(batch=1, height=8, width=10, channels=8, filters=16),
        odd1=dict(batch=2, height=9, width=7, channels=5, filters=7),
        odd2=dict(batch=1, height=23, width=5, channels=3, filters=37),
        seed=dict(batch=2, height=32, width=32, channels=32, filters=32),
        large=dict(batch=16, height=128, width=128, channels=128, filters=128),
    ),
)
