"""Prime fields for tasks: primes, random residues as limbs, and Python's integers as an oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from metalbench.task.inputs import Input, integers

Array = np.ndarray[Any, Any]

# BN254, Ethereum's alt_bn128 (EIP-196): the prime of coordinates, and the order of the group.
BN254_BASE = 0x30644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD47
BN254_SCALAR = 0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001
# BLS12-381: the prime of coordinates.
BLS12_BASE = int(
    "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab",
    16,
)
# Goldilocks: 2^64 - 2^32 + 1. The group of its units has a subgroup of order 2^32.
GOLDILOCKS = 2**64 - 2**32 + 1
# BabyBear: 15 2^27 + 1.
BABYBEAR = 15 * 2**27 + 1
# Generators of the groups of units.
GENERATORS = {GOLDILOCKS: 7, BABYBEAR: 31}


def to_integers(limbs: Array) -> list[int]:
    """Return the numbers of `limbs` (..., limbs), uint32, the lowest limb first, in one list."""
    rows = np.ascontiguousarray(limbs).reshape(-1, limbs.shape[-1])
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


def to_limbs(numbers: Sequence[int], *shape: int) -> Array:
    """Return numbers as uint32 of `shape`, whose last extent is the number of limbs."""
    data = b"".join(each.to_bytes(4 * shape[-1], "little") for each in numbers)
    return np.frombuffer(data, np.uint32).reshape(shape)


def residues(*dims: str | int, prime: int, limbs: int) -> Input:
    """Return numbers below `prime`, uint32 (*dims, limbs), the lowest limb first.

    One in sixteen is 0, 1, the prime less 1, or another number at an edge of a limb.
    """
    edges = [0, 1, prime - 1, prime - 2, 2**32 - 1, 2**32, 2 ** (prime.bit_length() - 1)]
    plain = integers(*dims, limbs, high=2**32)

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
    ) -> Array:
        drawn = random.integers(0, 2**32, shape, dtype=np.uint32)
        # The highest limb below the prime's: such a number is below it.
        top = prime >> 32 * (limbs - 1)
        drawn[..., -1] = random.integers(0, top, shape[:-1], dtype=np.uint32)
        chosen = random.integers(0, 16 * len(edges), shape[:-1])
        for i, edge in enumerate(edges):
            drawn[chosen == i] = to_limbs([edge], limbs)
        return drawn

    return replace(plain, draw=draw, distribution="residues", together=True)


def map_residues(function: Callable[..., int], prime: int, *arrays: Array) -> Array:
    """Return `function` of the numbers of each array, modulo `prime`, with limbs as theirs."""
    rows = zip(*map(to_integers, arrays), strict=True)
    return to_limbs([function(*row) % prime for row in rows], *arrays[0].shape)
