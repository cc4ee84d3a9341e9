"""Convolution of one tap: a matrix product for every pixel."""

from metalbench.task.families import ConvolutionGeometry, convolution_task

conv2d_1x1 = convolution_task(
    "conv2d_1x1",
    "Convolution of one tap: a matrix product for every pixel.",
    ConvolutionGeometry(1),
    sizes=dict(
        small=dict(batch=1, height=4, width=5, channels=8, filters=16),
        odd1=dict(batch=2, height=9, width=7, channels=5, filters=7),
        odd2=dict(batch=1, height=11, width=5, channels=33, filters=37),
        seed=dict(batch=2, height=32, width=32, channels=64, filters=128),
        large=dict(batch=16, height=64, width=64, channels=512, filters=512),
    ),
)
