"""Random programs give what StableHLO's reference interpreter gives, at all levels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from oracle import evaluate
from random_programs import programs

from metalbench import hlo


def examples(count):
    # What is drawn is the same every time: a kernel built before is in the cache.
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@examples(3)
@given(st.lists(programs(), min_size=4, max_size=4))
def test_a_few_programs(drawn):
    check(drawn)


@pytest.mark.slow
@examples(25)
@given(st.lists(programs(length=25), min_size=8, max_size=8))
def test_many_programs(drawn):
    check(drawn)


def check(drawn):
    given = [(each.text, each.arguments) for each in drawn]
    for (text, arguments), expected in zip(given, evaluate(given), strict=True):
        for level in (0, 2, 3):
            found = hlo.compile(text, level=level, device="cpu")(*arguments)
            for got, wanted in zip(found, expected, strict=True):
                np.testing.assert_array_equal(got, wanted.reshape(got.shape), err_msg=text)
