"""Quantised weights: encodings, packing, and inputs of tasks in these encodings."""

from metalbench.formats.affine import Affine
from metalbench.formats.drawn import fp8, minifloat, quantised
from metalbench.formats.minifloats import MODES, Mode

__all__ = ["MODES", "Affine", "Mode", "fp8", "minifloat", "quantised"]
