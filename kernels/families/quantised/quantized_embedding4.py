"""Rows of a table of 4-bit weights, chosen by index."""

from metalbench.formats.tasks import affine, embedding

quantized_embedding4 = embedding("quantized_embedding4", affine(4))
