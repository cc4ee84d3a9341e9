"""Tolerances of kernels, by default and with those of the test."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench.testing.assertion import Expected, Tolerance, compute_expected, judge

RANDOM = np.random.default_rng(0)
EXACT = RANDOM.normal(size=4096)
RULE = Tolerance()


def passes(got, expected: Expected, tolerance: Tolerance = RULE) -> bool:
    nothing = np.zeros(got.shape, bool)
    _, wrong = judge("[f] y", got, expected, tolerance, unwritten=nothing, inputs={})
    return wrong is None


def test_rounding_passes_and_half_precision_does_not():
    assert passes(EXACT.astype(np.float32), Expected(EXACT))
    assert not passes(EXACT.astype(np.float16).astype(np.float32), Expected(EXACT))
    assert passes(EXACT.astype(np.float16), Expected(EXACT))


def test_one_wrong_element_is_found():
    got = EXACT.astype(np.float32)
    got[17] += 1e-4
    assert not passes(got, Expected(EXACT))
    assert passes(got, Expected(EXACT), Tolerance(atol=2e-4))
    assert not passes(got, Expected(EXACT), Tolerance(atol=5e-5))


def test_sums_in_another_order_pass():
    rows = RANDOM.normal(size=(64, 4096)).astype(np.float32)
    one_by_one = np.add.accumulate(rows, axis=1)[:, -1]
    assert passes(one_by_one, Expected(rows.astype(np.float64).sum(axis=1)))
    assert passes(one_by_one, Expected(rows.sum(axis=1)))


def test_rounding_errors_of_the_function_widen_the_bound():
    def cancelling(x):
        return (x + 100) - 100

    inputs = {"x": EXACT.astype(np.float32)}
    found = compute_expected(cancelling, inputs, ["y"])["y"]
    single = cancelling(inputs["x"])
    assert passes(single, found)
    assert not passes(single, Expected(EXACT))


def test_relative_tolerances_and_equality():
    got = EXACT.astype(np.float32)
    assert passes(1.0009 * got, Expected(EXACT), Tolerance(rtol=1e-3))
    assert not passes(1.0011 * got, Expected(EXACT), Tolerance(rtol=1e-3))
    assert passes(got, Expected(got), Tolerance(rtol=0, atol=0))
    assert not passes(np.nextafter(got, np.float32(9)), Expected(got), Tolerance(rtol=0, atol=0))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_must_be_at_the_expected_places(bad):
    wrong, right = EXACT.astype(np.float32), EXACT.copy()
    wrong[3] = right[5] = bad
    assert not passes(wrong, Expected(EXACT))
    assert not passes(EXACT.astype(np.float32), Expected(right))
    assert passes(right.astype(np.float32), Expected(right))


def test_a_different_shape_is_reported():
    _, wrong = judge(
        "[f] y", np.zeros(3), Expected(np.zeros((3, 1))), RULE, unwritten=np.zeros(3), inputs={}
    )
    assert wrong is not None
    assert wrong.message == "[f] y: expected shape (3, 1), got (3,)"


def test_compute_expected_passes_the_named_or_all_arrays():
    inputs = {"x": EXACT, "n": 4, "z": EXACT}
    assert compute_expected(lambda z, n: z * n, inputs, ["y"])["y"].values[0] == 4 * EXACT[0]
    assert compute_expected(np.add, inputs, ["y"])["y"].values[0] == 2 * EXACT[0]
    assert compute_expected(lambda **all_: all_["x"], inputs, ["y"])["y"].single is not None
