"""Weights of 8 bits, groups of 64, as floats."""

from metalbench.formats.tasks import affine, dequantize

dequantize_affine8 = dequantize("dequantize_affine8", affine(8))
