"""Convolution of 3 x 3 taps, as large as the image, of many channels, in Winograd's form."""

from dataclasses import replace

import numpy as np

from metalbench.task.families import ConvolutionGeometry, convolution_task, convolve_images

STEPS = ConvolutionGeometry(3, padding=1)


def magnitude(x, w):
    """Sums of absolute terms; rounding errors of four pixels' transform spread over all four."""
    terms = convolve_images(np.abs(x), np.abs(w), STEPS)
    _, height, width, _ = terms.shape
    even = np.pad(terms, ((0, 0), (0, height % 2), (0, width % 2), (0, 0)))
    of_four = even[:, ::2, ::2] + even[:, 1::2, ::2] + even[:, ::2, 1::2] + even[:, 1::2, 1::2]
    return of_four.repeat(2, axis=1).repeat(2, axis=2)[:, :height, :width]


winograd_3x3 = replace(
    convolution_task(
        "winograd_3x3",
        "Convolution of 3 x 3 taps, as large as the image, of many channels, in Winograd's form.",
        STEPS,
        sizes=dict(
            small=dict(batch=1, height=8, width=10, channels=16, filters=8),
            odd1=dict(batch=2, height=9, width=7, channels=13, filters=37),
            odd2=dict(batch=1, height=23, width=5, channels=33, filters=9),
            seed=dict(batch=1, height=28, width=28, channels=64, filters=64),
            large=dict(batch=16, height=56, width=56, channels=128, filters=128),
        ),
    ),
    scale=magnitude,
)
