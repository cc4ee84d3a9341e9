"""Weights of 3 bits, groups of 64, as floats."""

from metalbench.formats.tasks import affine, dequantize

dequantize_affine3 = dequantize("dequantize_affine3", affine(3))
