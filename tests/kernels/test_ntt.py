"""Number-theoretic transforms against their definition, with Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_outputs import compute

from metalbench.task import fields


def by_definition(x: list[int], prime: int) -> list[int]:
    """Sum over i of x_i w^(i k), with w the root of unity of the order of the length."""
    length = len(x)
    root = pow(fields.GENERATORS[prime], (prime - 1) // length, prime)
    powers = [pow(root, i, prime) for i in range(length)]
    return [
        sum(x[i] * powers[i * k % length] for i in range(length)) % prime for k in range(length)
    ]


def numbers(prime: int, batch: int, length: int) -> np.ndarray:
    """Random residues, with rows that are all zero, all the prime less 1, or one impulse."""
    random = np.random.default_rng(9)
    x = random.integers(0, prime, (batch, length), dtype=np.uint64)
    x[0] = 0
    x[1] = prime - 1
    x[2, 1:] = 0
    x[3, ::2] = 2**32 - 1
    return x


@pytest.mark.parametrize(
    ("name", "prime", "dtype"),
    [
        ("ntt_goldilocks", fields.GOLDILOCKS, np.uint64),
        ("ntt_babybear", fields.BABYBEAR, np.uint32),
    ],
)
@pytest.mark.parametrize(("high", "low"), [(2, 2), (8, 2), (2, 16), (16, 4), (32, 8)])
def test_transforms(name: str, prime: int, dtype: type, high: int, low: int) -> None:
    x = (numbers(prime, 5, high * low) % np.uint64(prime)).astype(dtype)
    size = f"batch=5,high={high},low={low}"
    found = compute(name, size, x=x.reshape(5, high, low))[1]["y"].reshape(5, -1)
    expected = [by_definition(row, prime) for row in x.tolist()]
    assert found.tolist() == expected
    assert fields.transform(x.astype(np.uint64), prime).tolist() == expected


def test_the_inverse_transform_gives_the_numbers_back() -> None:
    x = numbers(fields.GOLDILOCKS, 4, 4096).reshape(4, 64, 64)
    size = "batch=4,high=64,low=64"
    there = compute("ntt_goldilocks", size, x=x)[1]["y"]
    assert (there < fields.GOLDILOCKS).all()
    # The kernel takes any shape of a length: the result's order is the natural one.
    np.testing.assert_array_equal(compute("intt_goldilocks", size, x=there)[1]["y"], x)


def test_products_modulo_goldilocks() -> None:
    prime = fields.GOLDILOCKS
    edges = [0, 1, 2**32 - 1, 2**32, 2**32 + 1, 2**63, prime - 2**32, prime - 1, prime // 2]
    a, b = (each.ravel() for each in np.meshgrid(*[np.array(edges, np.uint64)] * 2))
    found = fields.multiply(a, b, prime, np)
    assert found.tolist() == [x * y % prime for x, y in zip(a.tolist(), b.tolist(), strict=True)]
