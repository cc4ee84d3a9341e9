"""Prime fields for tasks: primes, random residues as limbs, and Python's integers as an oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.task.declaration import Task, task
from metalbench.task.inputs import Input, integers, output

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


def montgomery_products(name: str, prime: int, *, limbs: int, flops: int, large: int) -> Task:
    """Return the task `name`: products of residues x and y (n, limbs), divided by R.

    R is two to the power of all bits of the limbs. `flops` are those of one product, `large` is n
    of the size of that name. MLX has no such integers: Python's are the reference, too.
    """
    inverse = pow(2 ** (32 * limbs), -1, prime)

    def oracle(x: Array, y: Array) -> Array:
        return map_residues(lambda a, b: a * b * inverse, prime, x, y)

    def reference(x: Any, y: Any) -> Any:
        return mx.array(oracle(np.array(x), np.array(y)))

    reference.__name__ = name
    operand = residues("n", prime=prime, limbs=limbs)
    return task(
        sizes={
            "small": {"n": 64},
            "odd1": {"n": 1023},
            "odd2": {"n": 37},
            "seed": {"n": 16384},
            "large": {"n": large},
        },
        gpu_headlines=("large",),
        inputs={"x": operand, "y": operand},
        outputs={"z": output("n", limbs, dtype="uint32")},
        oracle=oracle,
        flops=f"{flops} * n",
        baseline="Python's integers, by way of MLX's arrays",
        against=("eager",),
    )(reference)


# Number-theoretic transforms, in NumPy or MLX, for primes of at most 64 bits.

TRANSFORMS = {
    "small": {"batch": 2, "high": 16, "low": 8},
    "odd1": {"batch": 3, "high": 64, "low": 32},
    "odd2": {"batch": 1, "high": 8, "low": 512},
    "seed": {"batch": 4, "high": 128, "low": 128},
    "large": {"batch": 4, "high": 1024, "low": 1024},
}


def draw_transform(random: np.random.Generator) -> Mapping[str, int]:
    """Return a random size of a transform: powers of two, up to those of the size `seed`."""
    high, low = (2 ** int(each) for each in random.integers(1, 8, 2))
    return {"batch": int(random.integers(1, 5)), "high": high, "low": low}


def below(*dims: str | int, prime: int, dtype: str) -> Input:
    """Return numbers below `prime`, of which one in 16 is 0, 1, or at the upper end."""
    edges = np.array([0, 1, prime - 1, prime - 2, 2**32 - 1], np.uint64) % np.uint64(prime)
    plain = integers(*dims, high=2, dtype=dtype)

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
    ) -> Array:
        drawn = random.integers(0, prime, shape, dtype=np.uint64)
        chosen = random.integers(0, 16 * len(edges), shape)
        drawn = np.where(chosen < len(edges), edges[chosen % len(edges)], drawn)
        return drawn.astype(dtype)

    return replace(plain, draw=draw, distribution=f"below {prime}")


def multiply(a: Any, b: Any, prime: int, xp: Any) -> Any:
    """Return products of uint64 modulo `prime`: below 2^32, or Goldilocks. `xp` is the module."""
    if prime < 2**32:
        return a * b % prime
    mask = 2**32 - 1
    low, middle = (a & mask) * (b & mask), (a >> 32) * (b & mask)
    middle = middle + (low >> 32)
    other = (a & mask) * (b >> 32) + (middle & mask)
    high = (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32)
    low = (low & mask) | (other << 32)
    # 2^64 is 2^32 - 1 modulo the prime, 2^96 is -1.
    top, more = high >> 32, (high & mask) * mask
    found = low - top
    found = xp.where(low < top, found - mask, found) + more
    found = xp.where(found < more, found + mask, found)
    return _reduce(found, prime, xp)


def _reduce(x: Any, prime: int, xp: Any) -> Any:
    limit = xp.array(np.array([prime], np.uint64))
    return xp.where(x >= limit, x - limit, x)


def transform(x: Any, prime: int, *, inverse: bool = False, xp: Any = np) -> Any:
    """Return number-theoretic transforms of the last axis of `x` (rows, length), uint64.

    That is Stockham's form with radix 2: `x` is seen as (rows, 2, half, done).
    """
    rows, length = x.shape
    root = pow(GENERATORS[prime], (prime - 1) // length * (-1 if inverse else 1), prime)
    powers, limit = np.ones(1, np.uint64), xp.array(np.array([prime], np.uint64))
    while 2 * len(powers) < length:
        step = np.array([pow(root, len(powers), prime)], np.uint64)
        powers = np.concatenate([powers, multiply(powers, step, prime, np)])
    half, done = length // 2, 1
    while half >= 1:
        parts = x.reshape(rows, 2, half, done)
        a, b = parts[:, 0], parts[:, 1]
        total, difference = a + b, xp.where(a < b, a - b + limit, a - b)
        # A sum beyond 2^64 is 2^64 - prime more modulo the prime.
        total = _reduce(xp.where(total < a, total - limit, total), prime, xp)
        turned = multiply(difference, xp.array(powers[::done, None]), prime, xp)
        x = xp.stack([total, turned], axis=2).reshape(rows, length)
        half, done = half // 2, 2 * done
    if inverse:
        x = multiply(x, xp.array(np.array([pow(length, -1, prime)], np.uint64)), prime, xp)
    return x


def transform_task(name: str, prime: int, *, dtype: str, inverse: bool = False) -> Task:
    """Return the task `name`: transforms of rows of high * low numbers of `dtype`."""

    def transform_rows(x: Any, xp: Any) -> Any:
        rows = x.reshape(x.shape[0], -1).astype(xp.uint64)
        found = transform(rows, prime, inverse=inverse, xp=xp)
        return found.astype(getattr(xp, dtype)).reshape(x.shape)

    def reference(x: Any) -> Any:
        return transform_rows(x, mx)

    reference.__name__ = name
    return task(
        sizes=TRANSFORMS,
        gpu_headlines=("large",),
        inputs={"x": below("batch", "high", "low", prime=prime, dtype=dtype)},
        outputs={"y": output("batch", "high", "low", dtype=dtype)},
        draw=draw_transform,
        oracle=lambda x: transform_rows(x, np),
        flops="30 * batch * high * low",
        baseline="mx.uint64, level by level",
        against=("eager",),
    )(reference)
