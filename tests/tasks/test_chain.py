"""Both ways of chaining leave the values alone."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from metalbench.reference.chain import _by_data, _by_graph


@pytest.mark.parametrize("depend", [_by_data, _by_graph])
@pytest.mark.parametrize("several", [False, True])
def test_a_dependency_changes_nothing(depend, several):
    x = mx.array(np.random.default_rng(0).standard_normal((37, 41)).astype(np.float32))
    y = mx.exp(x)
    results = (y, mx.argmax(x)) if several else y
    np.testing.assert_array_equal(np.array(depend(x, results)), np.array(x))


def test_an_integer_input_can_depend_on_a_float_output():
    x = mx.array(np.arange(5, dtype=np.uint32))
    kept = _by_data(x, mx.array([1.5]))
    assert kept.dtype == mx.uint32
    np.testing.assert_array_equal(np.array(kept), np.arange(5))
