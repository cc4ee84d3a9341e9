from __future__ import annotations

import numpy as np
import pytest

from metalbench.verify.explanation import describe


def hint(got, expected, unwritten=None, **inputs):
    bad = ~(np.abs(got - expected) <= 1e-6)
    unwritten = np.zeros(bad.shape, bool) if unwritten is None else unwritten
    return describe(got, expected, bad, unwritten, inputs)


@pytest.fixture
def expected():
    return np.random.default_rng(0).standard_normal((20, 30))


def spoilt(expected, *where):
    got = expected.copy()
    got[where] = 99
    return got


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (np.s_[:, -3:], "the last 3 of 30 columns are wrong"),
        (np.s_[:2], "the first 2 of 20 rows are wrong"),
        (np.s_[:, 4:9], "columns 4 to 8 of 30 are wrong"),
        (np.s_[1::4], "rows 1, 5, ... of 20 are wrong"),
        (np.s_[19, 25:], "the last 5 of 600 elements (in memory order) are wrong"),
        (np.s_[5:7, 3:9], "all of them lie in rows 5 to 6 of 20"),
    ],
)
def test_a_region_is_named(expected, where, words):
    assert hint(spoilt(expected, *np.index_exp[where]), expected) == words


def test_scattered_errors_have_no_hint(expected):
    got = expected.copy()
    got.reshape(-1)[[3, 77, 210, 599]] = 9
    assert hint(got, expected) == ""


def test_hint_distinguishes_unwritten_and_wrong_elements(expected):
    got = expected.copy()
    got[:, -3:] = np.nan
    unwritten = np.isnan(got)
    assert hint(got, expected, unwritten) == "the last 3 of 30 columns were never written"
    assert hint(got, expected) == "the last 3 of 30 columns are not a number"
    everything = np.ones(expected.shape, bool)
    assert hint(np.full_like(expected, np.nan), expected, everything) == "nothing was written"


def test_hint_describes_a_whole_result(expected):
    assert hint(np.zeros_like(expected), expected) == "every element is 0.0"
    assert hint(np.full_like(expected, np.nan), expected) == "every element is not a number"
    assert hint(3 * expected, expected) == "every element is 3 times what it should be"
    x = np.random.default_rng(1).standard_normal((20, 30))
    assert hint(x, expected, x=x) == "it is a copy of the input x"
    assert hint(np.roll(expected, -1, axis=1), expected) == (
        "the values are right but lie one place too far to the left (index + 1)"
    )
    assert hint(np.roll(expected, 1, axis=1), expected) == (
        "the values are right but lie one place too far to the right (index - 1)"
    )


def test_hint_describes_one_dimension():
    y = np.arange(1.0, 11.0)
    got = y.copy()
    got[-1] = 0
    assert hint(got, y) == "the last 1 of 10 elements are wrong"


def test_three_dimensions():
    y = np.random.default_rng(0).standard_normal((2, 3, 4))
    got = y.copy()
    got[:, -1] = 9
    assert hint(got, y) == "the last 1 of 3 indices of axis 1 are wrong"
