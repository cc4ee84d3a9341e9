"""Pack codes of a few bits into one little-endian stream per row, as MLX packs weights.

Element i has bits i * bits to (i + 1) * bits - 1 of the stream, least significant bit first. Codes
of 3, 5 and 6 bits cross words. Eight codes are always `bits` bytes.
"""

from __future__ import annotations

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
