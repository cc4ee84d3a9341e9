"""Affine quantisation: integers with a scale and a bias for each group, as in MLX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metalbench.formats.bits import pack_bits, unpack_bits

Array = np.ndarray[Any, Any]
_LEAST_SCALE = np.float32(1e-7)
BITS = (2, 3, 4, 5, 6, 8)
GROUPS = (32, 64, 128)


@dataclass(frozen=True)
class Affine:
    """Codes of `bits` bits; each `group` of them has a scale s and a bias b: s * code + b."""

    bits: int
    group: int = 64

    def __post_init__(self) -> None:
        if self.bits not in BITS or self.group not in GROUPS:
            raise ValueError(
                f"expected bits of {BITS} and a group of {GROUPS}, got {self.bits} and {self.group}"
            )

    @property
    def name(self) -> str:
        """A description such as "4 bits, groups of 64"."""
        return f"{self.bits} bits, groups of {self.group}"

    def quantised(self, plain: Array) -> tuple[Array, Array, Array]:
        """Words, scales and biases of plain rows, float32 (..., count), as MLX chooses them.

        The end of a group with the larger magnitude, and zero, are represented exactly. Scales may
        be negative. Source: MLX 0.32's affine_quantize.
        """
        groups = plain.astype(np.float32).reshape(*plain.shape[:-1], -1, self.group)
        most = np.float32((1 << self.bits) - 1)
        low, high = groups.min(-1), groups.max(-1)
        is_low = np.abs(low) > np.abs(high)
        scales = np.maximum((high - low) / most, _LEAST_SCALE)
        scales = np.where(is_low, scales, -scales)
        edge = np.where(is_low, low, high)
        at_edge = np.rint(edge / scales)
        has_edge = at_edge != 0
        scales = np.where(has_edge, edge / np.where(has_edge, at_edge, 1), scales)
        biases = np.where(has_edge, edge, np.float32(0))
        codes = np.rint((groups - biases[..., None]) / scales[..., None])
        codes = np.clip(codes, 0, most).astype(np.uint8).reshape(plain.shape)
        return pack_bits(codes, self.bits), scales, biases

    def dequantised(self, words: Array, scales: Array, biases: Array) -> Array:
        """Return the values (..., count), computed in the type of the scales."""
        codes = unpack_bits(words, self.bits).astype(scales.dtype)
        groups = codes.reshape(*scales.shape, self.group)
        return (groups * scales[..., None] + biases[..., None]).reshape(codes.shape)

    def magnitudes(self, words: Array, scales: Array, biases: Array) -> Array:
        """Return sums of absolute terms: the scale of rounding errors of the values."""
        return self.dequantised(words, np.abs(scales), np.abs(biases))
