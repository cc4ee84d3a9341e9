from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import float32_implementations as implementations
import numpy as np
import pytest

from metalbench.kernel.library import find
from metalbench.task.workload import workload
from metalbench.verify import seeds_for, small_sizes
from metalbench.verify.admission import BadResult, TaskCheck
from metalbench.verify.tolerance import (
    ROUNDING_MODEL_MOST_ROUNDOFFS,
    ErrorNorms,
    Inexact,
    model_errors,
    model_float32_errors,
)

U = 2.0**-24
FEW_SEEDS, SEEDS = 3, 20


SEVERAL = pytest.mark.parametrize("seeds", [FEW_SEEDS, pytest.param(SEEDS, marks=pytest.mark.slow)])


def cases(table):
    return [
        pytest.param(task, function, id=f"{task}: {name}")
        for task, several in table.items()
        for name, function in several.items()
    ]


@cache
def checks(name, seed):
    task = find([name])[0].task
    return [TaskCheck(workload(task, size, seed=seed)) for size in small_sizes(task)]


def factors(name, function, seed):
    """Errors of `function` as multiples of what is allowed, at every small size."""
    found = []
    for check in checks(name, seed):
        arrays = [each.astype(np.float32) for each in check.work.inputs.values()]
        with np.errstate(all="ignore"):
            values = function(*arrays)
        (output,) = check.work.expected
        assert values.dtype == np.float32
        found.append(check.factor(BadResult("", output, values)))
    return found


@SEVERAL
@pytest.mark.parametrize(("task", "function"), cases(implementations.GOOD))
def test_good_float32_implementations_pass(task, function, seeds):
    for seed in range(seeds):
        assert max(factors(task, function, seed)) <= 1, f"seed {seed}"


@SEVERAL
@pytest.mark.parametrize(("task", "function"), cases(implementations.SEQUENTIAL))
def test_sequential_sums_pass_even_of_equal_terms(task, function, seeds):
    for seed in range(seeds):
        assert max(factors(task, function, seed)) <= 1, f"seed {seed}"


@SEVERAL
@pytest.mark.parametrize(("task", "function"), cases(implementations.REDUCED))
def test_reduced_precision_and_dropped_work_fail(task, function, seeds):
    fails = [max(factors(task, function, seed)) > 1 for seed in range(seeds)]
    in_a_row = len(seeds_for(find([task])[0].task, "small"))
    for seed in range(max(1, seeds - in_a_row + 1)):
        assert any(fails[seed : seed + in_a_row]), f"passes from seed {seed} on"


def exact_pair(values):
    random = np.random.Generator(np.random.SFC64(7))
    return np.asarray(values), Inexact.of(values, random)


def rms(values):
    return float(np.sqrt(np.square(values).mean()))


def relative(inexact, exact):
    return rms((np.asarray(inexact) - exact) / exact) / U


def uniform(*shape, low=0.5, high=2.0, seed=0):
    return np.random.default_rng(seed).uniform(low, high, shape)


def test_one_operation_has_a_uniform_rounding_error():
    exact, inexact = exact_pair(uniform(10_000))
    assert relative(inexact + 1.5, exact + 1.5) == pytest.approx(1 / math.sqrt(3), rel=0.05)
    assert relative(inexact * 1.5, exact * 1.5) == pytest.approx(1 / math.sqrt(3), rel=0.05)


def test_an_exponential_errs_with_its_argument():
    exact, inexact = exact_pair(uniform(10_000, low=-20, high=-19))
    assert relative(np.exp(inexact), np.exp(exact)) == pytest.approx(21.5 / math.sqrt(3), rel=0.05)


@pytest.mark.parametrize(
    "function",
    [
        np.abs,
        np.negative,
        np.sort,
        lambda x: np.maximum(x, 1.0),
        lambda x: x.max(axis=-1),
        lambda x: np.where(x > 1, x, 0.0),
        lambda x: np.concatenate([x, x]),
        lambda x: x.reshape(-1)[::3].T,
        lambda x: np.pad(x, 1),
        lambda x: np.take_along_axis(x, np.argsort(x, axis=-1), axis=-1),
    ],
)
def test_selections_are_exact(function):
    exact, inexact = exact_pair(uniform(50, 40))
    np.testing.assert_array_equal(np.asarray(function(inexact)), function(exact))


@pytest.mark.parametrize("count", [16, 256, 4096])
@pytest.mark.parametrize("low", [0.5, -2.0], ids=["of one sign", "of both signs"])
def test_a_sum_errs_as_a_sequential_one_in_float32(count, low):
    terms = uniform(400, count, low=low, seed=count).astype(np.float32)
    exact, inexact = exact_pair(terms.astype(np.float64))
    modelled = rms(np.asarray(inexact.sum(axis=1)) - exact.sum(axis=1))
    real = rms(np.add.accumulate(terms, axis=1)[:, -1] - exact.sum(axis=1))
    assert 1 < modelled / real < 3


@pytest.mark.parametrize(
    "product",
    [
        lambda a, b: a @ b,
        lambda a, b: np.einsum("ik,kj->ij", a, b),
        np.dot,
        lambda a, b: np.tensordot(a, b, 1),
        lambda a, b: (a[:, :, None] * b).sum(axis=1),
    ],
    ids=["matmul", "einsum", "dot", "tensordot", "sum"],
)
def test_matrix_products_have_the_same_error_in_any_form(product):
    a, b = uniform(60, 256, low=-1), uniform(256, 60, low=-1, seed=1)
    inexact = exact_pair(a)[1]
    modelled = rms(np.asarray(product(inexact, b)) - a @ b)
    single = np.zeros((60, 60), np.float32)
    for k in range(256):
        single += a[:, k, None].astype(np.float32) * b[k].astype(np.float32)
    wide = a.astype(np.float32).astype(np.float64) @ b.astype(np.float32).astype(np.float64)
    assert 1 < modelled / rms(single - wide) < 3


def test_a_running_sum_has_larger_errors_at_its_end():
    exact, inexact = exact_pair(uniform(500, 1000))
    error = np.abs(np.asarray(inexact.cumsum(axis=1)) - exact.cumsum(axis=1))
    assert rms(error[:, -10:]) > 10 * rms(error[:, :10])


def test_operations_in_place_and_into_plain_arrays_err():
    exact, inexact = uniform(1000), exact_pair(uniform(1000))[1]
    plain = np.zeros(1000)
    plain += inexact * 3
    inexact /= 3
    assert 0 < relative(plain, exact * 3) < 2
    assert 0 < relative(inexact, exact / 3) < 2


def test_equal_values_err_alike():
    _, inexact = exact_pair(np.full(100, 1.5))
    assert len(np.unique(np.asarray(np.exp(inexact)))) == 1


def test_infinities_are_unchanged():
    _, inexact = exact_pair(np.array([np.inf, -np.inf, np.nan, 1e308]))
    with np.errstate(all="ignore"):
        large = np.asarray(inexact * 10)
        np.testing.assert_array_equal(large, [np.inf, -np.inf, np.nan, np.inf])
        np.testing.assert_array_equal(np.asarray(np.exp(inexact))[:2], [np.inf, 0])


def test_the_model_is_the_same_every_time_and_another_at_another_seed():
    task = find(["softmax"])[0].task
    first, again = (model_errors(workload(task, "small", seed=0)) for _ in range(2))
    assert first == again
    assert first != model_errors(workload(task, "small", seed=6))


def test_model_float32_errors_is_between_the_measured_error_and_the_cap():
    for name in ("softmax", "layer_norm", "top_k", "argmax"):
        work = workload(find([name])[0].task, "small", seed=1)
        measured = {each: ErrorNorms(1e-3, 1e-4) for each in work.expected}
        allowed = model_float32_errors(work, measured)
        assert allowed == measured or all(each.rms >= 1e-4 for each in allowed.values())
        for output, each in model_errors(work).items():
            assert (
                each.largest
                <= ROUNDING_MODEL_MOST_ROUNDOFFS * U * np.abs(work.scale[output]).max() * 1.001
            )


def test_an_oracle_without_array_subclasses_has_no_model():
    task = find(["relu"])[0].task
    work = workload(task, "small", seed=0)

    def refusing(x):
        if type(x) is not np.ndarray:
            raise TypeError(type(x).__name__)
        return np.maximum(x, 0)

    strict = replace(work, task=replace(task, oracle=refusing))
    assert model_errors(strict) == {"y": ErrorNorms(0.0, 0.0)}
