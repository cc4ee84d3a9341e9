"""Products of large integers whose carries go through all limbs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernel_outputs import compute

from metalbench.task import fields


@pytest.mark.parametrize("limbs", [1, 2, 16, 31, 32, 33, 64, 100])
def test_products_with_long_carries(limbs: int) -> None:
    bits = 32 * limbs
    numbers = [0, 1, 2**bits - 1, 2 ** (bits - 1), 2**bits - 2**31, 2 ** (bits // 2) - 1]
    numbers += [(2**bits - 1) // 3, 2**bits - 2, (2**32 - 1) << (bits - 32)]
    pairs = list(itertools.product(numbers, repeat=2))
    x, y = (fields.to_limbs(each, len(pairs), limbs) for each in zip(*pairs, strict=True))
    found = compute("bigint_mul", f"count={len(pairs)},limbs={limbs}", x=x, y=y)[1]["z"]
    assert found.dtype == np.uint32
    assert fields.to_integers(found) == [a * b for a, b in pairs]
