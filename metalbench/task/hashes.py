"""Hash functions in NumPy, for oracles: Keccak of many messages at once, BLAKE3, Merkle trees."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# Sizes of tasks with many messages of equal length: some end near the ends of SHA-256's blocks, of
# 64 bytes less nine, and of Keccak's.
MESSAGES = {
    "small": {"messages": 16, "length": 64},
    "odd1": {"messages": 37, "length": 119},
    "odd2": {"messages": 5, "length": 1023},
    "short": {"messages": 33, "length": 3},
    "full": {"messages": 33, "length": 55},
    "full_rate": {"messages": 33, "length": 135},
    "seed": {"messages": 1024, "length": 256},
    "large": {"messages": 65536, "length": 1024},
}

# Bytes of a message that one permutation of Keccak absorbs, for a digest of 32 bytes (FIPS 202).
RATE = 136


def _keccak_round_constants() -> list[int]:
    """Return the 24 constants of step iota: bits of a shift register (FIPS 202, algorithm 5)."""
    bits, register = list[int](), 1
    for _ in range(7 * 24):
        bits.append(register & 1)
        register = (register << 1) ^ (0x171 if register & 0x80 else 0)
    return [sum(bits[j + 7 * each] << (2**j - 1) for j in range(7)) for each in range(24)]


def _keccak_offsets() -> dict[tuple[int, int], int]:
    """Return by how many bits step rho rotates lane (x, y) (FIPS 202, algorithm 2)."""
    offsets, x, y = {(0, 0): 0}, 1, 0
    for t in range(24):
        offsets[x, y] = (t + 1) * (t + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    return offsets


_CONSTANTS = _keccak_round_constants()
_OFFSETS = _keccak_offsets()


def _rotate(lane: Array, by: int) -> Array:
    if by == 0:
        return lane
    rotated: Array = lane << np.uint64(by) | lane >> np.uint64(64 - by)
    return rotated


def _permute(a: Array) -> Array:
    """Return Keccak-f[1600] of `a` (5, 5, ...), uint64, indexed by x and y."""
    for constant in _CONSTANTS:
        parity = np.bitwise_xor.reduce(a, axis=1)
        a = a ^ (np.roll(parity, 1, 0) ^ _rotate(np.roll(parity, -1, 0), 1))[:, None]
        b = np.empty_like(a)
        for (x, y), by in _OFFSETS.items():
            b[y, (2 * x + 3 * y) % 5] = _rotate(a[x, y], by)
        a = b ^ (~np.roll(b, -1, 0) & np.roll(b, -2, 0))
        a[0, 0] ^= np.uint64(constant)
    return a


def keccak(messages: Array, *, suffix: int) -> Array:
    """Return digests of `messages` (count, length), uint8 (count, 32).

    `suffix` is the first byte of the padding: 6 for SHA3-256, 1 for Ethereum's Keccak-256.
    """
    count, length = messages.shape
    padded = np.zeros((count, (length // RATE + 1) * RATE), np.uint8)
    padded[:, :length] = messages
    padded[:, length] = suffix
    padded[:, -1] |= 0x80
    lanes = padded.view("<u8").reshape(count, -1, RATE // 8).T
    state = np.zeros((25, count), np.uint64)
    for block in range(lanes.shape[1]):
        state[: RATE // 8] ^= lanes[:, block]
        # Lane 5 y + x of a block is that at (x, y).
        state = _permute(state.reshape(5, 5, count).swapaxes(0, 1)).swapaxes(0, 1)
        state = np.ascontiguousarray(state).reshape(25, count)
    return np.ascontiguousarray(state[:4].T).view(np.uint8)


# BLAKE3 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn, 2020), section 2: chunks of 1024 bytes, each of
# 16 blocks, are the leaves of a binary tree.

CHUNK, BLOCK = 1024, 64
_KEY = np.array(
    [
        0x6A09E667,
        0xBB67AE85,
        0x3C6EF372,
        0xA54FF53A,
        0x510E527F,
        0x9B05688C,
        0x1F83D9AB,
        0x5BE0CD19,
    ],
    np.uint32,
)
_CHUNK_START, _CHUNK_END, _PARENT, _ROOT = 1, 2, 4, 8
_ORDER = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
_COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
_DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def _compress(chaining: Array, words: Array, counter: Array, length: Array, flags: Array) -> Array:
    """Return new chaining values (8, count) of blocks `words` (16, count), uint32."""
    low, high = (counter & 0xFFFFFFFF).astype(np.uint32), (counter >> 32).astype(np.uint32)
    fixed = np.broadcast_to(_KEY[:4, None], chaining[:4].shape)
    v = [*chaining, *fixed, low, high, length.astype(np.uint32), flags.astype(np.uint32)]
    for _ in range(7):
        for place, (a, b, c, d) in enumerate((*_COLUMNS, *_DIAGONALS)):
            for word, first, second in ((0, 16, 12), (1, 8, 7)):
                v[a] = v[a] + v[b] + words[2 * place + word]
                v[d] = _rotate_right(v[d] ^ v[a], first)
                v[c] = v[c] + v[d]
                v[b] = _rotate_right(v[b] ^ v[c], second)
        words = words[_ORDER]
    return np.stack([v[i] ^ v[i + 8] for i in range(8)])


def _rotate_right(words: Array, by: int) -> Array:
    rotated: Array = words >> np.uint32(by) | words << np.uint32(32 - by)
    return rotated


def blake3(message: Array) -> Array:
    """Return the digest of a message of one byte or more, uint8 (32,)."""
    count = -(-len(message) // CHUNK)
    padded = np.zeros(count * CHUNK, np.uint8)
    padded[: len(message)] = message
    words = np.ascontiguousarray(padded.view("<u4").reshape(count, 16, 16).transpose(1, 2, 0))
    sizes = np.full(count, CHUNK)
    sizes[-1] = len(message) - (count - 1) * CHUNK
    values = np.repeat(_KEY[:, None], count, axis=1)
    for block in range(16):
        is_there = (sizes > block * BLOCK) | (block == 0)
        length = np.clip(sizes - block * BLOCK, 0, BLOCK)
        is_last = sizes <= (block + 1) * BLOCK
        flags = np.where(is_last, _CHUNK_END | (_ROOT if count == 1 else 0), 0)
        flags |= _CHUNK_START if block == 0 else 0
        found = _compress(values, words[block], np.arange(count), length, flags)
        values = np.where(is_there, found, values)
    while (count := values.shape[1]) > 1:
        # The last of an odd number goes up unchanged: left subtrees are as large as they can be.
        pairs = count // 2
        children = values[:, : 2 * pairs].reshape(8, pairs, 2)
        both = np.concatenate([children[..., 0], children[..., 1]])
        flags = np.full(pairs, _PARENT | (_ROOT if count == 2 else 0))
        key = np.repeat(_KEY[:, None], pairs, axis=1)
        parents = _compress(key, both, np.zeros(pairs, int), np.full(pairs, BLOCK), flags)
        values = np.concatenate([parents, values[:, 2 * pairs :]], axis=1)
    return np.ascontiguousarray(values[:, 0]).view(np.uint8)


def merkle_root(leaves: Array) -> Array:
    """Return the Merkle tree hash of RFC 9162 of `leaves` (count, length), uint8 (32,)."""
    nodes = [hashlib.sha256(b"\x00" + each.tobytes()).digest() for each in leaves]
    while len(nodes) > 1:
        pairs = zip(nodes[::2], nodes[1::2], strict=False)
        parents = [hashlib.sha256(b"\x01" + a + b).digest() for a, b in pairs]
        nodes = parents + (nodes[-1:] if len(nodes) % 2 else [])
    return np.frombuffer(nodes[0], np.uint8)
