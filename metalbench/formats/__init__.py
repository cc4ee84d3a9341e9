"""Quantised weights: encodings, packing, and inputs of tasks in these encodings."""

from metalbench.formats.blocks import BLOCKS, Blocks
from metalbench.formats.encodings import MODES, Affine, Mode
from metalbench.formats.inputs import blocks, fp8, minifloat, quantised

__all__ = ["BLOCKS", "MODES", "Affine", "Blocks", "Mode", "blocks", "fp8", "minifloat", "quantised"]
