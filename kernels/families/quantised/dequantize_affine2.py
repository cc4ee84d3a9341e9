"""Weights of 2 bits, groups of 64, as floats."""

from metalbench.formats.tasks import affine, dequantize

dequantize_affine2 = dequantize("dequantize_affine2", affine(2))
