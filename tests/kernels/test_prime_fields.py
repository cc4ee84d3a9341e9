"""Kernels for prime fields at the edges of limbs and of the prime, against Python's integers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernel_outputs import compute

from metalbench.task import curves, fields


def edges(prime: int, limbs: int) -> list[int]:
    """Numbers below the prime whose carries reach far, or not at all."""
    found = [0, 1, 2, prime - 1, prime - 2, prime // 2, prime // 2 + 1]
    for bits in range(32, 32 * limbs, 32):
        found += [2**bits, 2**bits - 1, prime - 2**bits, 2 ** (bits + 31)]
    return [each for each in found if 0 <= each < prime]


@pytest.mark.parametrize(
    ("name", "prime", "limbs"),
    [("mont_mul", fields.BN254_SCALAR, 8), ("mont_mul_bls12", fields.BLS12_BASE, 12)],
)
def test_products_of_edges(name: str, prime: int, limbs: int) -> None:
    pairs = list(itertools.product(edges(prime, limbs), repeat=2))
    x, y = (fields.to_limbs(each, len(pairs), limbs) for each in zip(*pairs, strict=True))
    found = fields.to_integers(compute(name, f"n={len(pairs)}", x=x, y=y)[1]["z"])
    radix = 2 ** (32 * limbs)
    for (a, b), product in zip(pairs, found, strict=True):
        assert product < prime
        assert product * radix % prime == a * b % prime, (a, b)


def test_inverses_of_edges() -> None:
    prime, radix = fields.BN254_SCALAR, 2**256
    # Zeros in a row, as a thread takes several numbers.
    numbers = [*edges(prime, 8), *[0] * 20]
    x = fields.to_limbs(numbers, len(numbers), 8)
    found = fields.to_integers(compute("field_inverse", f"n={len(numbers)}", x=x)[1]["y"])
    for number, inverse in zip(numbers, found, strict=True):
        assert inverse < prime
        assert number * inverse % prime == (radix * radix % prime if number else 0)


def test_residues_are_below_the_prime_and_have_its_edges() -> None:
    prime = fields.BN254_SCALAR
    drawn = fields.residues("n", prime=prime, limbs=8)
    random = np.random.default_rng(3)
    numbers = fields.to_integers(drawn.draw_array(random, {"n": 4000}, 0))
    assert max(numbers) < prime
    assert {0, 1, prime - 1} <= {*numbers}
    assert len({*numbers}) > 3000


def test_sums_of_equal_and_opposite_points() -> None:
    point = curves.scale(curves.GENERATOR, 12345)
    assert point is not None
    opposite = (point[0], curves.PRIME - point[1])
    other = curves.scale(curves.GENERATOR, 99)
    buckets = [
        [],
        [point],
        [point, point],
        [point, opposite],
        [point, opposite, other],
        [point] * 33,
        [point, opposite] * 40,
        [curves.scale(curves.GENERATOR, i) for i in range(1, 70)],
    ]
    offsets = np.cumsum([0, *map(len, buckets)]).astype(np.uint32)
    points = curves.to_array([each for bucket in buckets for each in bucket])
    size = f"n={len(points)},buckets={len(buckets)}"
    found = compute("msm_buckets", size, points=points, offsets=offsets)[1]["y"]
    expected = [
        None,
        point,
        curves.scale(point, 2),
        None,
        other,
        curves.scale(point, 33),
        None,
        curves.scale(curves.GENERATOR, 69 * 70 // 2),
    ]
    assert curves.to_points(found) == expected


def test_multiples_of_the_generator_of_bn254() -> None:
    """Twice the generator is known from Ethereum's tests (EIP-196); the order gives infinity."""
    x = 0x030644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD3
    y = 0x15ED738C0E0A7C92E7845F96B2AE9C0A68A6A449E3538FC7FF3EBF7A5A18A2C4
    assert curves.scale(curves.GENERATOR, 2) == (x, y)
    assert (y * y - x**3 - 3) % curves.PRIME == 0
    assert curves.scale(curves.GENERATOR, fields.BN254_SCALAR) is None
