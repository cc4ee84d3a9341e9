"""Weights of few bits: how they are packed, what they stand for, and inputs that are drawn so."""

from metalbench.formats.affine import Affine
from metalbench.formats.drawn import fp8, minifloat, quantised
from metalbench.formats.minifloats import MODES, Mode

__all__ = ["MODES", "Affine", "Mode", "fp8", "minifloat", "quantised"]
