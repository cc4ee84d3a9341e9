"""Blocks of GGUF files: q8_0, q4_k, q5_k, q6_k and iq4_nl.

A row is a sequence of blocks, each of 32 or 256 weights. A block has its codes, their scales and
possibly least values, all in bytes that follow each other. Sources: the GGUF specification
(types of tensors) and the layouts that ggml documents for them. Numbers of types are GGUF's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# The values of the codes of iq4_nl: closer to each other near zero.
IQ4_NL = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)


@dataclass(frozen=True)
class Decoded:
    """Groups of weights: scales * codes - mins. `codes` is (..., groups, size of a group)."""

    codes: Any
    scales: Any
    mins: Any = None


@dataclass(frozen=True)
class Blocks:
    """Blocks of `group` weights and `nbytes` bytes. `type` is GGUF's number of the format.

    `decode(xp, blocks)` takes uint8 (..., blocks, nbytes) of the library `xp`, NumPy or MLX.
    `encode(plain)` takes float32 (..., blocks, group) and returns uint8 (..., blocks, nbytes).
    """

    name: str
    type: int
    group: int
    nbytes: int
    decode: Callable[[Any, Any], Decoded]
    encode: Callable[[Array], Array]

    def quantised(self, plain: Array) -> tuple[Array]:
        """Return bytes, uint8 (..., count / group * nbytes), of plain rows (..., count)."""
        blocks = plain.astype(np.float32).reshape(*plain.shape[:-1], -1, self.group)
        return (self.encode(blocks).reshape(*plain.shape[:-1], -1),)

    def dequantised(self, rows: Any, xp: Any = np, dtype: Any = np.float64) -> Any:
        """Return the values (..., count) of bytes of NumPy, or of MLX with `xp` mlx.core.

        The result is exact in float64.
        """
        return self._combine(rows, xp, dtype, lambda large, small: large - small)

    def magnitudes(self, rows: Array) -> Array:
        """Return sums of absolute terms: the scale of rounding errors of the values."""
        sums: Array = self._combine(rows, np, np.float64, lambda a, b: np.abs(a) + np.abs(b))
        return np.abs(sums)

    def _combine(self, rows: Any, xp: Any, dtype: Any, join: Callable[[Any, Any], Any]) -> Any:
        blocks = rows.reshape(*rows.shape[:-1], -1, self.nbytes)
        found = self.decode(xp, blocks)
        values = found.codes.astype(dtype) * found.scales.astype(dtype)[..., None]
        if found.mins is not None:
            values = join(values, found.mins.astype(dtype)[..., None])
        return values.reshape(*rows.shape[:-1], -1)


def _half(xp: Any, blocks: Any, at: int) -> Any:
    """Return the half at byte `at` of blocks as float32 (..., blocks, 1)."""
    pair = blocks[..., at : at + 2]
    if xp is np:
        pair = np.ascontiguousarray(pair)
    return pair.view(xp.float16).astype(xp.float32)


def _bytes_of(halves: Array) -> Array:
    return np.ascontiguousarray(halves.astype("<f2")[..., None]).view(np.uint8)


def _split(xp: Any, codes: Any, bits: int) -> Any:
    """Split bytes (..., n) into fields of `bits` bits (..., 8 / bits, n), the lowest first."""
    mask = (1 << bits) - 1
    return xp.stack([(codes >> at) & mask for at in range(0, 8, bits)], -2)


def _over(top: Array, bottom: Array) -> Array:
    """Return top / bottom, and zero where the bottom is zero."""
    found: Array = np.divide(top, bottom, out=np.zeros_like(top + bottom), where=bottom != 0)
    return found


def _decode_q8_0(xp: Any, blocks: Any) -> Decoded:
    return Decoded(blocks[..., 2:].view(xp.int8)[..., None, :], _half(xp, blocks, 0))


def _encode_q8_0(plain: Array) -> Array:
    scales = (np.abs(plain).max(-1) / 127).astype(np.float16)
    codes = np.rint(_over(plain, scales.astype(np.float32)[..., None])).clip(-127, 127)
    return np.concatenate([_bytes_of(scales), codes.astype(np.int8).view(np.uint8)], -1)


def _decode_iq4_nl(xp: Any, blocks: Any) -> Decoded:
    codes = _split(xp, blocks[..., 2:], 4)
    values = xp.array(IQ4_NL, xp.int8)[codes.astype(xp.int32)]
    return Decoded(values.reshape(*blocks.shape[:-1], 1, 32), _half(xp, blocks, 0))


def _encode_iq4_nl(plain: Array) -> Array:
    """Map the element with the largest magnitude to the code with the largest one."""
    largest = np.take_along_axis(plain, np.abs(plain).argmax(-1)[..., None], -1)[..., 0]
    scales = (largest / IQ4_NL[0]).astype(np.float16)
    wanted = _over(plain, scales.astype(np.float32)[..., None])
    middles = (np.array(IQ4_NL[1:]) + np.array(IQ4_NL[:-1])) / 2
    codes = np.searchsorted(middles, wanted).astype(np.uint8)
    return np.concatenate([_bytes_of(scales), codes[..., :16] | codes[..., 16:] << 4], -1)


def _decode_six_bits(xp: Any, packed: Any) -> tuple[Any, Any]:
    """Return eight scales and eight mins of 6 bits from 12 bytes.

    Of the first four the bytes 0..3 and 4..7 have the lower six bits. Of the last four the bytes
    8..11 have four bits of a scale and four of a min. The bytes 0..7 have two bits each at the top.
    """
    first, second, third = (packed[..., at : at + 4] for at in (0, 4, 8))
    scales = [first & 63, (third & 15) | ((first >> 6) << 4)]
    mins = [second & 63, (third >> 4) | ((second >> 6) << 4)]
    return xp.concatenate(scales, -1), xp.concatenate(mins, -1)


def _encode_six_bits(scales: Array, mins: Array) -> Array:
    low, high = np.s_[..., :4], np.s_[..., 4:]
    parts = [each[low] | (each[high] >> 4) << 6 for each in (scales, mins)]
    return np.concatenate([*parts, (scales[high] & 15) | (mins[high] & 15) << 4], -1)


def _decode_k(xp: Any, blocks: Any, bits: int) -> Decoded:
    """Decode 256 codes of 4 or 5 bits in eight groups: pairs of them share 32 bytes."""
    scales, mins = _decode_six_bits(xp, blocks[..., 4:16])
    fours = blocks[..., -128:].reshape(*blocks.shape[:-1], 4, 32)
    codes = _split(xp, fours, 4).reshape(*blocks.shape[:-1], 8, 32)
    if bits == 5:
        codes = codes | (_split(xp, blocks[..., 16:48], 1) << 4)
    return Decoded(
        codes,
        _half(xp, blocks, 0) * scales.astype(xp.float32),
        _half(xp, blocks, 2) * mins.astype(xp.float32),
    )


def _encode_k(plain: Array, bits: int) -> Array:
    """Cover the range of each group from its least value, or zero, to its largest."""
    groups = plain.reshape(*plain.shape[:-1], 8, 32)
    most = (1 << bits) - 1
    lows = np.maximum(-groups.min(-1), 0)
    of_mins = (lows.max(-1) / 63).astype(np.float16)
    mins = np.ceil(_over(lows, of_mins.astype(np.float32)[..., None])).clip(0, 63)
    bottoms = mins * of_mins.astype(np.float32)[..., None]
    steps = np.maximum(groups.max(-1) + bottoms, 0) / most
    of_scales = (steps.max(-1) / 63).astype(np.float16)
    scales = np.ceil(_over(steps, of_scales.astype(np.float32)[..., None])).clip(0, 63)
    units = scales * of_scales.astype(np.float32)[..., None]
    codes = np.rint(_over(groups + bottoms[..., None], units[..., None])).clip(0, most)
    codes = codes.astype(np.uint8)
    parts = [
        _bytes_of(of_scales),
        _bytes_of(of_mins),
        _encode_six_bits(scales.astype(np.uint8), mins.astype(np.uint8)),
    ]
    if bits == 5:
        tops = (codes >> 4) << np.arange(8, dtype=np.uint8)[:, None]
        parts.append(np.bitwise_or.reduce(tops, -2))
    fours = codes & 15
    parts.append((fours[..., ::2, :] | fours[..., 1::2, :] << 4).reshape(*plain.shape[:-1], 128))
    return np.concatenate(parts, -1)


def _decode_q6_k(xp: Any, blocks: Any) -> Decoded:
    """Decode 256 codes of 6 bits in 16 groups.

    Of each 128 codes 64 bytes have the lower four bits, of codes i and i + 64, and 32 bytes the
    upper two, of codes i, i + 32, i + 64 and i + 96.
    """
    shape = blocks.shape[:-1]
    fours = _split(xp, blocks[..., :128].reshape(*shape, 2, 64), 4).reshape(*shape, 2, 4, 32)
    twos = _split(xp, blocks[..., 128:192].reshape(*shape, 2, 32), 2)
    codes = (fours | (twos << 4)).astype(xp.int8) - 32
    scales = blocks[..., 192:208].view(xp.int8).astype(xp.float32)
    return Decoded(codes.reshape(*shape, 16, 16), _half(xp, blocks, 208) * scales)


def _encode_q6_k(plain: Array) -> Array:
    shape = plain.shape[:-1]
    groups = plain.reshape(*shape, 16, 16)
    steps = np.abs(groups).max(-1) / 31
    of_scales = (steps.max(-1) / 127).astype(np.float16)
    scales = np.ceil(_over(steps, of_scales.astype(np.float32)[..., None])).clip(0, 127)
    units = scales * of_scales.astype(np.float32)[..., None]
    codes = np.rint(_over(groups, units[..., None])).clip(-32, 31) + 32
    halves = codes.astype(np.uint8).reshape(*shape, 2, 4, 32)
    fours, twos = halves & 15, (halves >> 4) << np.array([0, 2, 4, 6], np.uint8)[:, None]
    return np.concatenate(
        [
            (fours[..., :2, :] | fours[..., 2:, :] << 4).reshape(*shape, 128),
            np.bitwise_or.reduce(twos, -2).reshape(*shape, 64),
            scales.astype(np.int8).view(np.uint8),
            _bytes_of(of_scales),
        ],
        -1,
    )


def _k(bits: int) -> Sequence[Any]:
    return lambda xp, blocks: _decode_k(xp, blocks, bits), lambda plain: _encode_k(plain, bits)


BLOCKS = {
    each.name: each
    for each in (
        Blocks("q8_0", 8, 32, 34, _decode_q8_0, _encode_q8_0),
        Blocks("q4_k", 12, 256, 144, *_k(4)),
        Blocks("q5_k", 13, 256, 176, *_k(5)),
        Blocks("q6_k", 14, 256, 210, _decode_q6_k, _encode_q6_k),
        Blocks("iq4_nl", 20, 32, 18, _decode_iq4_nl, _encode_iq4_nl),
    )
}
