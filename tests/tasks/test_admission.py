"""A task is in the library only if its own check rejects what cannot be right."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from metalbench import reference
from metalbench.library import Library
from metalbench.verify.error_rule import allowance_for, compare, yardstick
from metalbench.workload import workload

ENTRIES = list(Library())


class Judge:
    """The error rule for the one output of a task at one size."""

    def __init__(self, entry, size):
        self.task = entry.task
        self.work = workload(entry.task, size)
        ((self.name, self.expected),) = self.work.expected.items()
        self.kind = self.task.outputs[self.name].type_in(self.work.dtype)
        self.scale = self.work.scale[self.name] if self.kind.is_float else self.expected
        mlx = reference.outputs(self.work)[self.name]
        measured = yardstick(self.expected, mlx, self.scale)
        self.allowance = allowance_for(self.expected, measured, self.kind)

    def passes(self, got):
        return compare(
            self.name, got, self.expected, allowance=self.allowance, scale=self.scale
        ).passed

    @property
    def rounded(self):
        return self.expected.astype(self.kind.numpy)


@pytest.fixture(scope="module", params=ENTRIES, ids=lambda each: each.name)
def judge(request):
    return Judge(request.param, "odd1")


def test_the_oracle_rounded_once_is_right(judge):
    assert judge.passes(judge.rounded)


def test_zeros_are_wrong(judge):
    assert not judge.passes(np.zeros_like(judge.rounded))


def test_a_constant_is_wrong(judge):
    assert not judge.passes(np.full_like(judge.rounded, judge.rounded.astype(float).mean() * 0.99))


def test_the_output_of_another_seed_is_wrong(judge):
    other = workload(judge.task, "odd1", seed=1).expected[judge.name]
    assert not judge.passes(other.astype(judge.kind.numpy))


def test_a_copy_of_an_input_is_wrong(judge):
    for each in judge.work.inputs.values():
        copy = np.resize(each, judge.expected.shape).astype(judge.kind.numpy)
        assert not judge.passes(copy)


def test_a_missing_last_tile_is_wrong(judge):
    got = judge.rounded.copy()
    got.reshape(-1)[-max(1, got.size // 100) :] = 0
    assert not judge.passes(got)


def test_arithmetic_in_bfloat16_is_wrong(judge):
    """Inputs rounded to bfloat16, as they are on the way into such arithmetic."""
    coarse = {}
    for name, each in judge.work.inputs.items():
        is_float = judge.task.inputs[name].dtype is None
        coarse[name] = each.astype(ml_dtypes.bfloat16).astype(np.float64) if is_float else each
    result = np.asarray(judge.task.oracle(**coarse, **judge.task.constants))
    assert not judge.passes(result.astype(judge.kind.numpy))


def test_a_reduction_that_forgets_its_last_row_is_wrong():
    judge = Judge(Library().entry("mse_loss"), "large")
    inputs = {name: each[:-1].astype(np.float64) for name, each in judge.work.inputs.items()}
    total = np.square(inputs["prediction"] - inputs["target"]).sum()
    got = np.array([total / judge.work.inputs["target"].size], np.float32)
    assert not judge.passes(got)
    assert judge.passes(judge.rounded)
