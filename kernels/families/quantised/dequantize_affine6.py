"""Weights of 6 bits, groups of 64, as floats."""

from metalbench.formats.tasks import affine, dequantize

dequantize_affine6 = dequantize("dequantize_affine6", affine(6))
