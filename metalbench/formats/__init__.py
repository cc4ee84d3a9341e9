"""Quantised weights: encodings, packing, and inputs of tasks in these encodings."""

from metalbench.formats.encodings import MODES, Affine, Mode
from metalbench.formats.inputs import fp8, minifloat, quantised

__all__ = ["MODES", "Affine", "Mode", "fp8", "minifloat", "quantised"]
