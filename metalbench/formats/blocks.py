"""Blocks of GGUF files: q4_0 to q8_0, q2_k to q6_k, iq4_nl and iq4_xs.

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


def _join(fields: Array, bits: int) -> Array:
    """Return the bytes (..., n) that `_split` splits into these fields (..., 8 / bits, n)."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)[:, None]
    return np.asarray(np.bitwise_or.reduce(fields << shifts, -2))


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


def _decode_short(xp: Any, blocks: Any, bits: int, has_least: bool) -> Decoded:
    """Decode 32 codes of 4 or 5 bits: from a least value on, or less half of their range.

    16 bytes have the lower four bits, of codes i and i + 16. Bit i of four bytes is the fifth.
    """
    shape, at = (*blocks.shape[:-1], 1, 32), 4 if has_least else 2
    codes = _split(xp, blocks[..., -16:], 4).reshape(shape)
    if bits == 5:
        tops = _split(xp, blocks[..., at : at + 4], 1)
        codes = codes | (xp.swapaxes(tops, -1, -2).reshape(shape) << 4)
    if has_least:
        return Decoded(codes, _half(xp, blocks, 0), -_half(xp, blocks, 2))
    return Decoded(codes.astype(xp.int8) - (1 << (bits - 1)), _half(xp, blocks, 0))


def _encode_short(plain: Array, bits: int, has_least: bool) -> Array:
    """Cover the range; without a least value, map the element of largest magnitude to code 0."""
    most, middle = (1 << bits) - 1, 1 << (bits - 1)
    if has_least:
        low = plain.min(-1).astype(np.float16)
        scales = ((plain.max(-1) - low.astype(np.float32)) / most).astype(np.float16)
        bottoms, halves = low.astype(np.float32)[..., None], [_bytes_of(scales), _bytes_of(low)]
    else:
        largest = np.take_along_axis(plain, np.abs(plain).argmax(-1)[..., None], -1)[..., 0]
        scales = (largest / -middle).astype(np.float16)
        bottoms, halves = -middle * scales.astype(np.float32)[..., None], [_bytes_of(scales)]
    codes = np.rint(_over(plain - bottoms, scales.astype(np.float32)[..., None])).clip(0, most)
    codes = codes.astype(np.uint8)
    if bits == 5:
        halves.append(np.packbits(codes >> 4, -1, "little"))
    return np.concatenate([*halves, _join((codes & 15).reshape(*codes.shape[:-1], 2, 16), 4)], -1)


def _decode_iq4_nl(xp: Any, blocks: Any) -> Decoded:
    codes = _split(xp, blocks[..., 2:], 4)
    values = xp.array(IQ4_NL, xp.int8)[codes.astype(xp.int32)]
    return Decoded(values.reshape(*blocks.shape[:-1], 1, 32), _half(xp, blocks, 0))


def _encode_iq4_nl(plain: Array) -> Array:
    """Map the element with the largest magnitude to the code with the largest one."""
    largest = np.take_along_axis(plain, np.abs(plain).argmax(-1)[..., None], -1)[..., 0]
    scales = (largest / IQ4_NL[0]).astype(np.float16)
    codes = _nearest_of_iq4_nl(_over(plain, scales.astype(np.float32)[..., None]))
    return np.concatenate([_bytes_of(scales), codes[..., :16] | codes[..., 16:] << 4], -1)


def _nearest_of_iq4_nl(wanted: Array) -> Array:
    """Return the codes of the values that are nearest to these numbers."""
    middles = (np.array(IQ4_NL[1:]) + np.array(IQ4_NL[:-1])) / 2
    return np.searchsorted(middles, wanted).astype(np.uint8)


def _decode_iq4_xs(xp: Any, blocks: Any) -> Decoded:
    """Decode 256 codes of iq4_nl in eight groups, whose scales have six bits.

    Four bytes have the lower four bits of scales 2 k and 2 k + 1, two bytes the upper two bits of
    scales 4 k to 4 k + 3.
    """
    shape = blocks.shape[:-1]
    codes = _split(xp, blocks[..., 8:].reshape(*shape, 8, 16), 4).reshape(*shape, 8, 32)
    fours, twos = _split(xp, blocks[..., 4:8], 4), _split(xp, blocks[..., 2:4], 2)
    fours, twos = (xp.swapaxes(each, -1, -2).reshape(*shape, 8) for each in (fours, twos))
    scales = (fours | (twos << 4)).astype(xp.int8) - 32
    values = xp.array(IQ4_NL, xp.int8)[codes.astype(xp.int32)]
    return Decoded(values, _half(xp, blocks, 0) * scales.astype(xp.float32))


def _encode_iq4_xs(plain: Array) -> Array:
    """Map the element with the largest magnitude of a group to the code with the largest one."""
    shape = plain.shape[:-1]
    groups = plain.reshape(*shape, 8, 32)
    largest = np.take_along_axis(groups, np.abs(groups).argmax(-1)[..., None], -1)[..., 0]
    steps = largest / IQ4_NL[0]
    unit = (np.abs(steps).max(-1) / 31).astype(np.float16)
    scales = np.rint(_over(steps, unit.astype(np.float32)[..., None])).clip(-32, 31)
    wanted = _over(groups, (scales * unit.astype(np.float32)[..., None])[..., None])
    codes = _nearest_of_iq4_nl(wanted).reshape(*shape, 8, 2, 16)
    scales = (scales + 32).astype(np.uint8)
    parts = [
        _bytes_of(unit),
        _join(np.swapaxes((scales >> 4).reshape(*shape, 2, 4), -1, -2), 2),
        _join(np.swapaxes((scales & 15).reshape(*shape, 4, 2), -1, -2), 4),
        _join(codes, 4).reshape(*shape, 128),
    ]
    return np.concatenate(parts, -1)


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


def _cover_ranges(groups: Array, most: int, largest_scale: int) -> tuple[Array, ...]:
    """Return codes of groups (..., groups, size), from least values or zero to the largest ones.

    Codes are at most `most`. Scales and mins (..., groups) are at most `largest_scale`, and
    multiples of two halves (...). The result is (codes, scales, mins, both halves in bytes).
    """
    lows = np.maximum(-groups.min(-1), 0)
    of_mins = (lows.max(-1) / largest_scale).astype(np.float16)
    mins = np.ceil(_over(lows, of_mins.astype(np.float32)[..., None])).clip(0, largest_scale)
    bottoms = mins * of_mins.astype(np.float32)[..., None]
    steps = np.maximum(groups.max(-1) + bottoms, 0) / most
    of_scales = (steps.max(-1) / largest_scale).astype(np.float16)
    scales = np.ceil(_over(steps, of_scales.astype(np.float32)[..., None])).clip(0, largest_scale)
    units = scales * of_scales.astype(np.float32)[..., None]
    codes = np.rint(_over(groups + bottoms[..., None], units[..., None])).clip(0, most)
    halves = np.concatenate([_bytes_of(of_scales), _bytes_of(of_mins)], -1)
    return codes.astype(np.uint8), scales.astype(np.uint8), mins.astype(np.uint8), halves


def _encode_k(plain: Array, bits: int) -> Array:
    groups = plain.reshape(*plain.shape[:-1], 8, 32)
    codes, scales, mins, halves = _cover_ranges(groups, (1 << bits) - 1, 63)
    parts = [halves, _encode_six_bits(scales, mins)]
    if bits == 5:
        parts.append(_join(codes >> 4, 1))
    fours = codes & 15
    parts.append((fours[..., ::2, :] | fours[..., 1::2, :] << 4).reshape(*plain.shape[:-1], 128))
    return np.concatenate(parts, -1)


def _decode_q2_k(xp: Any, blocks: Any) -> Decoded:
    """Decode 256 codes of 2 bits in 16 groups, whose scales and mins share bytes.

    Of each 128 codes 32 bytes have codes i, i + 32, i + 64 and i + 96.
    """
    shape = blocks.shape[:-1]
    codes = _split(xp, blocks[..., 16:80].reshape(*shape, 2, 32), 2).reshape(*shape, 16, 16)
    scales, mins = blocks[..., :16] & 15, blocks[..., :16] >> 4
    return Decoded(
        codes,
        _half(xp, blocks, 80) * scales.astype(xp.float32),
        _half(xp, blocks, 82) * mins.astype(xp.float32),
    )


def _encode_q2_k(plain: Array) -> Array:
    shape = plain.shape[:-1]
    codes, scales, mins, halves = _cover_ranges(plain.reshape(*shape, 16, 16), 3, 15)
    twos = _join(codes.reshape(*shape, 2, 4, 32), 2).reshape(*shape, 64)
    return np.concatenate([scales | mins << 4, twos, halves], -1)


def _decode_q3_k(xp: Any, blocks: Any) -> Decoded:
    """Decode 256 codes of 3 bits in 16 groups.

    The lower two bits are as in q2_k. Bit i / 32 of byte i % 32 is the third one of code i. Scales
    have six bits: eight bytes have the lower four, of scales k and k + 8, and four bytes the upper
    two, of scales k, k + 4, k + 8 and k + 12.
    """
    shape = blocks.shape[:-1]
    twos = _split(xp, blocks[..., 32:96].reshape(*shape, 2, 32), 2).reshape(*shape, 16, 16)
    tops = _split(xp, blocks[..., :32], 1).reshape(*shape, 16, 16)
    fours = _split(xp, blocks[..., 96:104], 4).reshape(*shape, 16)
    scales = fours | (_split(xp, blocks[..., 104:108], 2).reshape(*shape, 16) << 4)
    return Decoded(
        (twos | (tops << 2)).astype(xp.int8) - 4,
        _half(xp, blocks, 108) * (scales.astype(xp.int8) - 32).astype(xp.float32),
    )


def _encode_q3_k(plain: Array) -> Array:
    shape = plain.shape[:-1]
    codes, scales, of_scales = _cover_magnitudes(plain.reshape(*shape, 16, 16), 3, 31)
    scales = scales + 32
    parts = [
        _join((codes >> 2).reshape(*shape, 8, 32), 1),
        _join((codes & 3).reshape(*shape, 2, 4, 32), 2).reshape(*shape, 64),
        _join((scales & 15).reshape(*shape, 2, 8), 4),
        _join((scales >> 4).reshape(*shape, 4, 4), 2),
        _bytes_of(of_scales),
    ]
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


def _cover_magnitudes(groups: Array, most: int, largest_scale: int) -> tuple[Array, ...]:
    """Return codes of groups (..., groups, size), which are whole numbers from -`most` - 1 on.

    Scales (..., groups) are at most `largest_scale`, and multiples of a half (...). The result is
    (codes from 0 on, scales, halves).
    """
    steps = np.abs(groups).max(-1) / most
    of_scales = (steps.max(-1) / largest_scale).astype(np.float16)
    scales = np.ceil(_over(steps, of_scales.astype(np.float32)[..., None])).clip(0, largest_scale)
    units = scales * of_scales.astype(np.float32)[..., None]
    codes = np.rint(_over(groups, units[..., None])).clip(-most - 1, most) + most + 1
    return codes.astype(np.uint8), scales.astype(np.uint8), of_scales


def _encode_q6_k(plain: Array) -> Array:
    shape = plain.shape[:-1]
    codes, scales, of_scales = _cover_magnitudes(plain.reshape(*shape, 16, 16), 31, 127)
    halves = codes.reshape(*shape, 2, 4, 32)
    fours = halves & 15
    parts = [
        (fours[..., :2, :] | fours[..., 2:, :] << 4).reshape(*shape, 128),
        _join(halves >> 4, 2).reshape(*shape, 64),
        scales,
        _bytes_of(of_scales),
    ]
    return np.concatenate(parts, -1)


def _k(bits: int) -> Sequence[Any]:
    return lambda xp, blocks: _decode_k(xp, blocks, bits), lambda plain: _encode_k(plain, bits)


def _short(bits: int, has_least: bool) -> Sequence[Any]:
    return (
        lambda xp, blocks: _decode_short(xp, blocks, bits, has_least),
        lambda plain: _encode_short(plain, bits, has_least),
    )


BLOCKS = {
    each.name: each
    for each in (
        Blocks("q4_0", 2, 32, 18, *_short(4, has_least=False)),
        Blocks("q4_1", 3, 32, 20, *_short(4, has_least=True)),
        Blocks("q5_0", 6, 32, 22, *_short(5, has_least=False)),
        Blocks("q5_1", 7, 32, 24, *_short(5, has_least=True)),
        Blocks("q8_0", 8, 32, 34, _decode_q8_0, _encode_q8_0),
        Blocks("q2_k", 10, 256, 84, _decode_q2_k, _encode_q2_k),
        Blocks("q3_k", 11, 256, 110, _decode_q3_k, _encode_q3_k),
        Blocks("q4_k", 12, 256, 144, *_k(4)),
        Blocks("q5_k", 13, 256, 176, *_k(5)),
        Blocks("q6_k", 14, 256, 210, _decode_q6_k, _encode_q6_k),
        Blocks("iq4_nl", 20, 32, 18, _decode_iq4_nl, _encode_iq4_nl),
        Blocks("iq4_xs", 23, 256, 136, _decode_iq4_xs, _encode_iq4_xs),
    )
}
