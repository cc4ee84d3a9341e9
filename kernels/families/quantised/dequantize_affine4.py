"""Weights of 4 bits, groups of 64, as floats."""

from metalbench.formats.tasks import affine, dequantize

dequantize_affine4 = dequantize("dequantize_affine4", affine(4))
