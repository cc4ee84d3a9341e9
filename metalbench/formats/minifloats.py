"""Floats of four and eight bits with a scale of eight bits for each group: mxfp4, mxfp8, nvfp4.

E2M1 and E4M3 are named after their bits of exponent and mantissa, E8M0 is a power of two. Sources:
the OCP Microscaling Formats specification 1.0; MLX's modes of those names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metalbench.formats.bits import pack_bits, unpack_bits

Array = np.ndarray[Any, Any]
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_LARGEST_E4M3 = 0x7E  # LARGEST; what is above is no number
LARGEST = 448.0


def _e4m3() -> Array:
    code = np.arange(128)
    exponent, mantissa = code >> 3, code & 7
    normal = np.ldexp(1 + mantissa / 8, exponent - 7)
    values = np.where(exponent == 0, np.ldexp(mantissa / 8, -6), normal).astype(np.float32)
    values[_LARGEST_E4M3 + 1] = np.nan
    return values


def _with_negatives(values: Array) -> Array:
    return np.concatenate([values, -values])


E2M1 = _with_negatives(_E2M1)
E4M3 = _with_negatives(_e4m3())
# The last is no number by the standard; MLX makes it infinite.
E8M0 = np.append(np.ldexp(1.0, np.arange(255) - 127), np.inf).astype(np.float32)


@dataclass(frozen=True)
class Mode:
    """One of MLX's modes: the codes' `values`, `bits` each, and the `scales` of groups."""

    name: str
    bits: int
    group: int
    values: Array
    scales: Array

    def quantised(self, plain: Array) -> tuple[Array, Array]:
        """Words (..., count * bits / 32) and scales, uint8, of plain rows, float32 (..., count).

        A power of two is the least that no element of the group exceeds the largest code of; of
        nvfp4 it is the nearest E4M3. Codes are the nearest, of two as near the even one, and zero
        has a sign, as in the Microscaling specification and MLX's Metal kernels. On
        the CPU MLX 0.32 has the same scales and codes but for E2M1, where it takes the smaller of
        two as near, and no sign of what becomes zero. Elements are finite.
        """
        groups = plain.astype(np.float32).reshape(*plain.shape[:-1], -1, self.group)
        positive = self.values[: len(self.values) // 2]
        known = positive[~np.isnan(positive)]
        most = np.abs(groups).max(-1)
        if self.scales is E8M0:
            scales = _least_power(most, known[-1])
        else:
            scales = _nearest(self.scales[: _LARGEST_E4M3 + 1], most / known[-1])
        unit = self.scales[scales][..., None]
        scaled = np.divide(groups, unit, out=np.zeros_like(groups), where=unit != 0)
        codes = _nearest(known, np.abs(scaled))
        codes |= np.where(np.signbit(scaled), len(positive), 0).astype(np.uint8)
        return pack_bits(codes.reshape(plain.shape), self.bits), scales

    def dequantised(self, words: Array, scales: Array, dtype: Any = np.float64) -> Array:
        """Return the values (..., count); exact where the type has them."""
        values = self.values[unpack_bits(words, self.bits)].reshape(*scales.shape, self.group)
        whole = values.astype(np.float32) * self.scales[scales][..., None]
        rows: Array = whole.reshape(*words.shape[:-1], -1).astype(dtype)
        return rows


def _least_power(most: Array, largest: Array) -> Array:
    """The E8M0 of the least power of two that times `largest` is no less than each of `most`."""
    mantissa, exponent = np.frexp(most)
    of_largest, less = np.frexp(largest)
    powers = np.where(most == 0, 0, exponent - less + (mantissa > of_largest))
    scales: Array = np.clip(powers + 127, 0, 254).astype(np.uint8)
    return scales


def _nearest(ascending: Array, wanted: Array) -> Array:
    """Return the number of the nearest of these values, of two as near the even one."""
    between = (ascending[1:] + ascending[:-1]) / 2
    below = np.searchsorted(between, wanted, side="left")
    above = np.searchsorted(between, wanted, side="right")
    nearest: Array = np.where(below % 2 == 0, below, above).astype(np.uint8)
    return nearest


def to_e4m3(values: Array) -> Array:
    """The nearest E4M3 of each, of two as near the even one; 448 of what is larger, with its sign.

    As `mx.to_fp8`. Codes are uint8.
    """
    codes = _nearest(E4M3[: _LARGEST_E4M3 + 1], np.abs(values))
    codes |= np.where(np.signbit(values), len(E4M3) // 2, 0).astype(np.uint8)
    return codes


MODES = {
    each.name: each
    for each in (
        Mode("mxfp4", 4, 32, E2M1, E8M0),
        Mode("mxfp8", 8, 32, E4M3, E8M0),
        Mode("nvfp4", 4, 16, E2M1, E4M3),
    )
}
