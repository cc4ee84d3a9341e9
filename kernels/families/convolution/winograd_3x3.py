"""Convolution of 3 x 3 taps, as large as the image, of many channels, in Winograd's form."""

from metalbench.task.convolutions import Steps, strided

winograd_3x3 = strided(
    "winograd_3x3",
    "Convolution of 3 x 3 taps as large as the image, of many channels.",
    Steps(3, padding=1),
    sizes=dict(
        small=dict(batch=1, height=8, width=10, channels=16, filters=8),
        odd1=dict(batch=2, height=9, width=7, channels=13, filters=37),
        odd2=dict(batch=1, height=23, width=5, channels=33, filters=9),
        seed=dict(batch=1, height=28, width=28, channels=64, filters=64),
        large=dict(batch=16, height=56, width=56, channels=128, filters=128),
    ),
)
