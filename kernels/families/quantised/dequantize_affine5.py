"""Weights of 5 bits, groups of 64, as floats."""

from metalbench.formats.tasks import affine, dequantize

dequantize_affine5 = dequantize("dequantize_affine5", affine(5))
