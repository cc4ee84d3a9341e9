"""Whose work a candidate's calls are, as the system counts it, and accounts that cannot be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from candidates import foreign_work

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernelbench.candidates.attempt import CallTiming, ReferenceProcess
from metalbench.kernelbench.candidates.candidate import Candidate
from metalbench.kernelbench.candidates.own_work import (
    LEAST_SHARE,
    Account,
    Overhead,
    find_missing_work,
)
from metalbench.kernelbench.candidates.source import parse_unchecked
from metalbench.reference.chain import list_forms
from metalbench.sandbox.resources import ProcessTimes
from metalbench.task.dtypes import dtype
from metalbench.task.workload import workload

MS = 10**6
ENTRY = Library().entry("sqr_mm")
KERNEL = """import mlx.core as mx

kernel = mx.fast.metal_kernel(
    name="whole",
    input_names=["a", "b"],
    output_names=["o"],
    source="uint i = thread_position_in_grid.x, j = thread_position_in_grid.y, n = a_shape[0];"
    "float s = 0; for (uint k = 0; k < n; ++k) s += a[j * n + k] * b[k * n + i]; o[j * n + i] = s;",
)


def sqr_mm(a, b):
    n = a.shape[0]
    return kernel(
        inputs=[a, b],
        grid=(n, n, 1),
        threadgroup=(16, 16, 1),
        output_shapes=[(n, n)],
        output_dtypes=[mx.float32],
    )[0]
"""
CALLS = 4
# 10 calls of 10 ms, in which kernels of one launch each took 9 ms.
GOOD = Account(10, 100 * MS, 10, 90 * MS, 100 * MS, ProcessTimes(90 * MS, 10 * MS, 10))
NOTHING = Overhead()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kernel_ns": 40063 * MS}, "40063%"),
        ({"kernel_ns": math.nan}, "got nan"),
        ({"kernel_ns": -1.0}, "got -1"),
        ({"kernel_ns": math.inf}, "got inf"),
        ({"reported_ns": -5.0}, "got -5"),
        ({"launches": math.nan}, "got nan"),
        ({"launches": -1}, "got -1"),
        ({"reported_ns": 110 * MS}, "110% of the time that passed"),
        ({"reported_ns": 50 * MS}, "its kernels took 180% of its calls' time"),
        ({"launches": 10**6}, "of which its threads can have run 84 at most"),
    ],
)
def test_an_impossible_account_is_reported_as_forged(change: dict[str, float], words: str) -> None:
    assert GOOD.find_forgery() == ""
    assert words in replace(GOOD, **change).find_forgery()


@pytest.mark.parametrize(
    ("kernels_ms", "others_ms", "share"),
    [
        (90, 0, 1.0),
        (90, 10, 0.9),
        (50, 50, 0.5),
        (4, 96, 0.04),
        # At the same time: what the host does within the time that passed counts alone.
        (100, 100, 0.0),
        (100, 25, 0.75),
        (0, 100, 0.0),
    ],
)
def test_the_share_is_the_lesser_of_processor_and_wall_time(
    kernels_ms: int, others_ms: int, share: float
) -> None:
    account = replace(GOOD, times=ProcessTimes(kernels_ms * MS, others_ms * MS, 10))
    assert account.own_share(NOTHING) == pytest.approx(share)


def test_overhead_of_copies_and_launches_is_not_work() -> None:
    account = replace(GOOD, times=ProcessTimes(2 * MS, 30 * MS, 100), launches=100)
    assert account.own_share(NOTHING) < 0.1
    assert account.own_share(Overhead(0.5 * MS, 0.05 * MS)) < 0.5
    assert account.own_share(Overhead(0.5 * MS, 0.05 * MS)) > account.own_share(Overhead(0.5 * MS))
    assert account.own_share(Overhead(1.5 * MS)) == 1.0


def test_reported_launches_that_did_not_happen_are_not_counted() -> None:
    account = replace(GOOD, times=ProcessTimes(2 * MS, 30 * MS, 10))
    many = replace(account, launches=10_000)
    overhead = Overhead(0.1 * MS, 0.1 * MS)
    assert many.own_share(overhead) == account.own_share(overhead)


def test_own_share_without_launches_is_zero() -> None:
    assert replace(GOOD, launches=0).own_share(NOTHING) == 0.0


def test_own_share_without_system_times_uses_bounded_claims() -> None:
    told = replace(GOOD, times=None, kernel_ns=4 * MS)
    assert told.own_share(NOTHING) == pytest.approx(0.04)
    assert replace(told, kernel_ns=40063 * MS).find_forgery()


MB = 10**6
# One call of 10 ms that reads 2 MB of inputs and writes 1 MB of outputs.
CALL = Account(1, 10 * MS, 1, 9 * MS, 10 * MS, ProcessTimes(9 * MS, MS, 1), 2 * MB, MB)
BURNT = replace(CALL, times=ProcessTimes(90 * MS, MS, 1), passed_ns=100 * MS)
FOREIGN = replace(CALL, times=ProcessTimes(MS, 9 * MS, 1))


def lacks(*accounts: Account) -> str:
    """Return the faults of calls whose inputs are 2 MB and whose outputs 1 MB."""
    return find_missing_work(accounts, NOTHING, 2 * MB, MB)


def test_calls_whose_kernels_read_and_write_all_arrays_are_complete() -> None:
    assert lacks(*[CALL] * 20) == ""
    eight = replace(CALL, calls=8, launches=8, times=ProcessTimes(9 * MS, MS, 8))
    assert lacks(replace(eight, read=16 * MB, written=8 * MB)) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"read": 4}, "they were given 4 bytes, and the inputs of the calls are 2000000"),
        ({"read": MB - 1}, "they were given 999999 bytes"),
        ({"written": 4}, "they had room for 4 bytes, and the outputs of the calls are 1000000"),
        ({"written": 0}, "they had room for 0 bytes"),
        ({"launches": 0}, "0 launches in 1 calls"),
        ({"calls": 8, "read": 16 * MB, "written": 8 * MB}, "1 launches in 8 calls"),
        ({"calls": 8, "launches": 8, "written": 8 * MB}, "the inputs of the calls are 16000000"),
        ({"calls": 8, "launches": 8, "read": 16 * MB}, "the outputs of the calls are 8000000"),
        (
            {
                "calls": 8,
                "launches": 8,
                "read": 16 * MB,
                "written": 8 * MB,
                "times": ProcessTimes(9, 1, 0),
            },
            "its threads can have run",
        ),
    ],
)
def test_one_suspicious_call_is_enough(change: dict[str, float], words: str) -> None:
    calls = [CALL] * 3
    if "times" in change:
        calls = []
    assert words in lacks(*calls, replace(CALL, **change))


def test_calls_are_judged_separately() -> None:
    calls = [BURNT if number % 7 == 0 else FOREIGN for number in range(28)]
    whole = Account(
        *(sum(getattr(each, name) for each in calls) for name in ("calls", "passed_ns")),
        launches=28,
        kernel_ns=0,
        reported_ns=0,
        times=ProcessTimes(
            *(sum(each) for each in zip(*(call.times for call in calls), strict=True))
        ),
    )
    assert whole.own_share(NOTHING) > LEAST_SHARE
    assert "in 86% of the requests they did less than 50%" in lacks(*calls)


@pytest.mark.parametrize(("foreign", "passes"), [(4, True), (10, True), (11, False)])
def test_half_of_the_requests_may_be_below_the_limit(foreign: int, passes: bool) -> None:
    calls = [CALL] * (20 - foreign) + [FOREIGN] * foreign
    assert bool(lacks(*calls)) is not passes


def test_copies_of_calls_without_a_launch_are_not_free() -> None:
    account = replace(GOOD, times=ProcessTimes(MS, 30 * MS, 1), launches=1)
    overhead = Overhead(2 * MS)
    assert account.own_share(overhead) < 0.1
    assert (
        replace(account, launches=10, times=ProcessTimes(MS, 30 * MS, 10)).own_share(overhead)
        == 1.0
    )


@pytest.fixture(scope="module")
def overhead() -> Iterator[Overhead]:
    """Return the cost of calls and launches on this machine."""
    work = workload(ENTRY.task, "seed", dtype_name="float32", seed=1)
    with ReferenceProcess(_core.open("cpu"), ENTRY, work, list_forms(ENTRY.task)[0].kind) as side:
        yield CallTiming(side, side, work).overhead()


def account_of(text: str) -> Account:
    """Return the account of some calls at the timed size."""
    kernel = parse_unchecked(text, name="sqr_mm", path=Path("answer.py"))
    work = workload(ENTRY.task, "seed", dtype_name="float32", seed=1)
    with Candidate(_core.open("cpu"), kernel, ENTRY.task, dtype("float32")) as candidate:
        timing = CallTiming(candidate, candidate, work)
        candidate.bind(work)
        candidate.call(candidate.bind(work).dispatches[0])
        for _ in range(CALLS):
            timing.window(1)
        return timing.account()


def of(variants: dict[str, str], *quick: str) -> list[object]:
    """The variants as parameters, most of them slow: each starts processes that import MLX."""
    return [
        pytest.param(text, id=name, marks=() if name in quick else pytest.mark.slow)
        for name, text in variants.items()
    ]


@pytest.mark.parametrize(
    "text", of(foreign_work.HOST_WORK, "numpy", "counters set to what was spent")
)
def test_work_of_the_host_is_not_its_own(text: str, overhead: Overhead) -> None:
    account = account_of(text)
    assert account.find_forgery() or account.own_share(overhead) < LEAST_SHARE, account


@pytest.mark.parametrize("text", of(foreign_work.FORGED, "the answer itself"))
def test_forged_accounts_are_seen(text: str, overhead: Overhead) -> None:
    account = account_of(text)
    assert account.find_forgery() or account.own_share(overhead) < LEAST_SHARE, account
    assert account.find_forgery(), account


@pytest.mark.slow
def test_a_kernel_that_computes_all_does_the_work(overhead: Overhead) -> None:
    # Slow on a processor: at a size that takes well below the limit of a launch.
    work = workload(ENTRY.task, "small", dtype_name="float32", seed=1)
    kernel = parse_unchecked(KERNEL, name="sqr_mm", path=Path("answer.py"))
    with Candidate(_core.open("cpu"), kernel, ENTRY.task, dtype("float32")) as candidate:
        timing = CallTiming(candidate, candidate, work)
        candidate.call(candidate.bind(work).dispatches[0])
        for _ in range(CALLS):
            timing.window(1)
        account = timing.account()
    assert not account.find_forgery()
    assert account.own_share(overhead) > LEAST_SHARE
