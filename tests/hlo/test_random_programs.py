"""Random programs have the results of StableHLO's reference interpreter, at all levels."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from many_programs import wrong
from oracle import evaluate
from random_programs import Example, programs

from metalbench import hlo
from metalbench.hlo.program import import_program


def examples(count):
    # The programs are the same every time, so that their kernels are in the build cache.
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
@examples(10)
@given(st.lists(programs(length=25), min_size=8, max_size=8))
def test_many_programs(drawn):
    """tests/hlo/many_programs.py runs more of them."""
    assert list(wrong(drawn)) == []


def test_a_wrong_result_is_noticed(monkeypatch):
    """The program that runs is not the one that the reference evaluates."""
    text = """func.func @main(%x: tensor<3xi32>) -> tensor<3xi32> {
      %0 = stablehlo.OPERATION %x, %x : tensor<3xi32>
      return %0 : tensor<3xi32>
    }"""
    example = Example(text.replace("OPERATION", "add"), [np.arange(3, dtype=np.int32)])
    assert list(wrong([example])) == []
    other = import_program(text.replace("OPERATION", "multiply"))
    monkeypatch.setattr("many_programs.import_program", lambda _: copy.deepcopy(other))
    assert [level for level, *_ in wrong([example])] == [0, 2, 3]


def check(drawn):
    given = [(each.text, each.arguments) for each in drawn]
    for (text, arguments), expected in zip(given, evaluate(given), strict=True):
        for level in (0, 2, 3):
            found = hlo.compile(text, level=level, device="cpu")(*arguments)
            for got, wanted in zip(found, expected, strict=True):
                np.testing.assert_array_equal(got, wanted.reshape(got.shape), err_msg=text)
