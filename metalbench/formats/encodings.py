"""Pack codes of a few bits into one little-endian stream per row, as MLX packs weights.

Element i has bits i * bits to (i + 1) * bits - 1 of the stream, least significant bit first. Codes
of 3, 5 and 6 bits cross words. Eight codes are always `bits` bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_EIGHT = 8


def pack_bits(codes: Array, bits: int) -> Array:
    """Pack codes (..., count) into words of 32 bits, uint32 (..., count * bits / 32)."""
    count = codes.shape[-1]
    if count * bits % 32 or count % _EIGHT:
        raise ValueError(f"expected whole words and whole eights, got {count} codes of {bits} bits")
    eights = codes.reshape(*codes.shape[:-1], count // _EIGHT, _EIGHT).astype(np.uint64)
    whole = np.zeros(eights.shape[:-1], np.uint64)
    for at in range(_EIGHT):
        whole |= eights[..., at] << np.uint64(at * bits)
    stream = np.empty((*whole.shape, bits), np.uint8)
    for at in range(bits):
        stream[..., at] = (whole >> np.uint64(8 * at)).astype(np.uint8)
    rows: Array = stream.reshape(*codes.shape[:-1], count * bits // 8)
    return rows.view("<u4").astype(np.uint32, copy=False)


def unpack_bits(words: Array, bits: int) -> Array:
    """Unpack words (..., count * bits / 32) into codes, uint8 (..., count)."""
    stream = np.ascontiguousarray(words, dtype="<u4").view(np.uint8)
    eights = stream.reshape(*words.shape[:-1], -1, bits)
    whole = np.zeros(eights.shape[:-1], np.uint64)
    for at in range(bits):
        whole |= eights[..., at].astype(np.uint64) << np.uint64(8 * at)
    codes = np.empty((*whole.shape, _EIGHT), np.uint8)
    mask = np.uint64((1 << bits) - 1)
    for at in range(_EIGHT):
        codes[..., at] = (whole >> np.uint64(at * bits)) & mask
    return codes.reshape(*words.shape[:-1], -1)


# Affine quantisation: integers with a scale and a bias for each group, as in MLX.

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
        """Return words, scales and biases of plain rows, float32 (..., count), as MLX chooses them.

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


# Floats of 4 and 8 bits with an 8-bit scale for each group: mxfp4, mxfp8, nvfp4.
#
# E2M1 and E4M3 are named after their bits of exponent and mantissa. E8M0 is a power of two.
# Sources: OCP Microscaling Formats specification 1.0; MLX's quantisation modes.

_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_LARGEST_E4M3 = 0x7E  # the code of LARGEST; the next code is NaN
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
# The last code is NaN in the specification; MLX decodes it as infinity.
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
        """Return words (..., count * bits / 32) and scales, uint8, of float32 rows (..., count).

        A scale is the least power of two with which no element exceeds the largest code; for nvfp4
        it is the nearest E4M3 number. Codes are rounded to nearest, ties to even, and zero keeps
        its sign, as in the Microscaling specification and MLX's Metal kernels. MLX 0.32 on the CPU
        differs for E2M1: ties go to the smaller code, and zero loses its sign. Elements are finite.
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
        """Return the values (..., count), exact if `dtype` can represent them."""
        values = self.values[unpack_bits(words, self.bits)].reshape(*scales.shape, self.group)
        whole = values.astype(np.float32) * self.scales[scales][..., None]
        rows: Array = whole.reshape(*words.shape[:-1], -1).astype(dtype)
        return rows


def _least_power(most: Array, largest: Array) -> Array:
    """Return E8M0 codes of the least powers of two p with p * largest >= `most`."""
    mantissa, exponent = np.frexp(most)
    of_largest, less = np.frexp(largest)
    powers = np.where(most == 0, 0, exponent - less + (mantissa > of_largest))
    scales: Array = np.clip(powers + 127, 0, 254).astype(np.uint8)
    return scales


def _nearest(ascending: Array, wanted: Array) -> Array:
    """Return the index of the nearest of these values to each number >= 0, ties to the even index.

    Numbers halfway between two of the values have at most 16 bits as float32.
    """
    if wanted.dtype == np.float32 and wanted.size > 1 << 16:
        # A search for each of many numbers takes seconds. The first 16 bits of a number, and
        # whether others follow, determine its index.
        bits = wanted.view(np.uint32)
        prefixes = bits >> np.uint32(16) << np.uint32(1)
        prefixes |= (bits & np.uint32(0xFFFF)) != 0
        every_prefix = np.arange(1 << 16, dtype=np.uint32) << np.uint32(15)
        return np.asarray(_nearest(ascending, every_prefix.view(np.float32))[prefixes])
    between = (ascending[1:] + ascending[:-1]) / 2
    below = np.searchsorted(between, wanted, side="left")
    above = np.searchsorted(between, wanted, side="right")
    nearest: Array = np.where(below % 2 == 0, below, above).astype(np.uint8)
    return nearest


def to_e4m3(values: Array) -> Array:
    """Return the nearest E4M3 codes, uint8, ties to even, saturated at 448, as `mx.to_fp8`."""
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
