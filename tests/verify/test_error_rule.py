from __future__ import annotations

import numpy as np
import pytest

from metalbench.task.dtypes import dtype
from metalbench.verify import tolerance
from metalbench.verify.tolerance import (
    FEWEST_FOR_RMS,
    RMS_DEVIATIONS,
    absolute_errors,
    compare,
    derive_tolerance,
    find_wrong,
    measure_error_norms,
)

FLOAT = dtype("float32")
U = FLOAT.roundoff


def judge(got, expected, reference=None, scale=None, kind=FLOAT):
    reference = expected if reference is None else reference
    scale = expected if scale is None else scale
    allowance = derive_tolerance(expected, measure_error_norms(expected, reference, scale), kind)
    compared = compare("y", got, expected, tolerance=allowance, scale=scale)
    bad = find_wrong(got, expected, tolerance=allowance, scale=scale)
    assert bad.any() <= (not compared.passed)
    return compared


def normal(count=2000, seed=0):
    return np.random.default_rng(seed).standard_normal(count)


def test_rounding_once_passes():
    y = normal()
    assert judge(y.astype(np.float32), y).passed


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_rounding_once_to_half_precision_passes(kind):
    y = normal()
    rounded = y.astype(dtype(kind).numpy)
    assert judge(rounded, y, kind=dtype(kind)).passed
    assert not judge(rounded.astype(np.float32), y).passed


def test_as_good_as_the_reference_passes_and_much_worse_does_not():
    y = normal()
    noise = 10 * U * normal(seed=1)
    assert judge(y + noise[::-1], y, reference=y + noise).passed
    assert not judge(y + 3 * noise[::-1], y, reference=y + noise).passed


def test_the_bound_follows_the_rule():
    y = np.full(FEWEST_FOR_RMS, 2.0)
    reference = y.copy()
    reference[3] += 5 * U
    got = y.copy()
    got += 20 * U
    got[7] += 80 * U
    compared = judge(got, y, reference)
    assert compared.index == (7,)
    assert compared.error == pytest.approx(100 * U)
    assert compared.bound == pytest.approx(4 * 5 * U + 8 * U * 2)
    assert compared.rms_error == pytest.approx(np.sqrt(400 + 9600 / FEWEST_FOR_RMS) * U)
    chance = 1 + RMS_DEVIATIONS / np.sqrt(FEWEST_FOR_RMS)
    allowed = 2 * 5 * U / np.sqrt(FEWEST_FOR_RMS) + 2 * U * 2
    assert compared.rms_bound == pytest.approx(chance * allowed)
    assert compared.error / compared.bound == pytest.approx(100 / 36)
    assert compared.ratio == compared.rms_error / compared.rms_bound


def test_few_elements_are_judged_separately():
    y = np.ones(FEWEST_FOR_RMS - 1)
    assert judge(y + 7 * U, y).passed
    assert not judge(np.ones(FEWEST_FOR_RMS) + 7 * U, np.ones(FEWEST_FOR_RMS)).passed


def test_a_bad_reference_excuses_little():
    """One that is off by 1 % does not let 1 % pass."""
    y = np.array([2.0])
    assert not judge(np.array([2.01]), y, reference=np.array([2.02])).passed
    assert judge(np.array([2 + 64 * U]), y, reference=np.array([2.02])).passed


def test_the_scale_widens_the_bound_where_terms_cancel():
    y, scale = np.zeros(5), np.full(5, 100.0)
    assert judge(y + 8 * U * 99, y, scale=scale).passed
    assert not judge(y + 8 * U * 101, y, scale=scale).passed


def test_zeros_are_right_only_for_zeros():
    y = normal() * 1e-20
    assert not judge(np.zeros(2000), y).passed
    assert judge(np.zeros(1000), np.zeros(1000)).passed


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_must_match_the_oracle(value):
    y = normal()
    y[5] = value
    assert judge(y.astype(np.float32), y).passed
    for other in (0.0, np.nan, np.inf, -np.inf):
        if not np.array_equal(other, value, equal_nan=True):
            got = y.copy()
            got[5] = other
            compared = judge(got, y)
            assert not compared.passed
            assert compared.index == (5,)
    got = np.where(np.isfinite(y), y, 0.0)
    got[5], got[6] = value, value
    assert judge(got, y).index == (6,)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("exact", [65510.0, 65530.0])
def test_infinity_is_right_for_values_that_round_to_it(exact, sign):
    """65504 is the largest half; what is 65520 or more is stored as infinity."""
    half, y = dtype("float16"), normal()
    got = y.astype(np.float16)
    y[5] = sign * exact
    for right in (np.float16(sign * 65504), np.float16(sign * np.inf)):
        got[5] = right
        assert judge(got, y, kind=half).passed
    for other in (np.nan, -sign * np.inf):
        got[5] = other
        compared = judge(got, y, kind=half)
        assert not compared.passed
        assert compared.index == (5,)


@pytest.mark.parametrize("exact", [65000.0, 1.0, 0.0, -1.0])
def test_infinity_is_wrong_for_values_that_do_not_round_to_it(exact):
    half, y = dtype("float16"), normal()
    got = y.astype(np.float16)
    y[5], got[5] = exact, np.inf
    compared = judge(got, y, kind=half)
    assert compared.index == (5,)
    assert compared.error == 65520 - exact
    assert not compared.passed


def test_the_worst_element_is_found_in_any_chunk():
    y = np.ones((1024, 300))
    got = y.copy()
    got[1000, 299] = 2
    compared = judge(got, y)
    assert compared.index == (1000, 299)
    assert (compared.expected, compared.got) == (1.0, 2.0)


def test_integers_must_be_equal():
    y = np.arange(10, dtype=np.int64).reshape(2, 5)
    allowance = derive_tolerance(y, measure_error_norms(y, y, y), dtype("uint32"))
    assert compare("y", y.astype(np.uint32), y, tolerance=allowance, scale=y).passed
    got = y.astype(np.uint32)
    got[1, 2] += 1
    compared = compare("y", got, y, tolerance=allowance, scale=y)
    assert not compared.passed
    assert (compared.index, compared.expected, compared.got) == ((1, 2), 7.0, 8.0)


def test_errors_of_nan():
    got = np.array([1.0, np.nan, np.inf, np.inf, np.nan])
    y = np.array([1.5, np.nan, np.inf, -np.inf, 0.0])
    np.testing.assert_array_equal(absolute_errors(got, y), [0.5, 0, 0, np.inf, np.inf])


def test_judge_gives_the_same_result_in_parts(monkeypatch):
    y, count = normal(count=80_000), 60_000
    got = y.astype(np.float32)
    got[count] += 1
    whole = judge(got, y)
    monkeypatch.setattr(tolerance, "_PART", 1 << 15)
    parts = judge(got, y)
    assert parts.index == whole.index == (count,)
    assert not parts.passed
    assert parts == whole
