"""Rows of a table of 6-bit weights, chosen by index."""

from metalbench.formats.tasks import affine, embedding

quantized_embedding6 = embedding("quantized_embedding6", affine(6))
