"""Plain rows as 8-bit codes with a scale and a bias for each group of 64."""

from metalbench.formats.tasks import quantize

quantize_affine8 = quantize("quantize_affine8", 8)
