"""Plain rows as 4-bit codes with a scale and a bias for each group of 64."""

from metalbench.formats.tasks import quantize

quantize_affine4 = quantize("quantize_affine4", 4)
