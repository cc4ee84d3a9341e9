"""The model: lanes that part meet again at the end of the statement; numbers are those of C."""

from __future__ import annotations

import numpy as np
import pytest
from generated import syntax as s
from generated.arithmetic import builtin, cast
from generated.lanes import together
from generated.model import expected

LANE, TOTAL = s.Name("uint", "lane"), s.Name("uint", "v")
LANES = np.arange(32)


def number(value: int) -> s.Literal:
    return s.Literal("uint", value)


def below(limit: int) -> s.Expression:
    return s.Compare("bool", "<", LANE, number(limit))


def count() -> s.Statement:
    """The lanes that are here add how many they are."""
    here = s.Together("uint", "simd_sum", [number(1)])
    return s.Assign(TOTAL, s.Binary("uint", "+", TOTAL, here))


def run(*body: s.Statement, threads: int = 32, functions: list[s.Function] | None = None):
    program = s.Program(
        seed=0,
        threads=(threads, 1, 1),
        grid=(threads, 1, 1),
        body=[s.Declare("v", number(0)), *body, s.Assign(s.OwnOutput("uint", "out0", 0), TOTAL)],
        outputs=[s.Output("out0", "uint", 1, "rows")],
        functions=functions or [],
    )
    return expected(program)["out0"]


def test_sides_of_a_branch_meet_after_it():
    got = run(s.If(below(10), [count()], [count()]), count())
    np.testing.assert_array_equal(got, np.where(LANES < 10, 10, 22) + 32)


def test_lanes_that_leave_a_loop_wait_after_it():
    loop = s.For("k", "uint", number(3), [s.If(below(8), [s.Break()], []), count()])
    np.testing.assert_array_equal(run(loop, count()), np.where(LANES < 8, 0, 3 * 24) + 32)


def test_lanes_that_continue_wait_for_the_end_of_the_iteration():
    loop = s.For("k", "uint", number(2), [count(), s.If(below(8), [s.Continue()], []), count()])
    np.testing.assert_array_equal(run(loop), np.where(LANES < 8, 64, 64 + 2 * 24))


def test_turns_of_its_own():
    got = run(s.For("k", "uint", LANE, [count()]))
    np.testing.assert_array_equal(got, [sum(31 - k for k in range(lane)) for lane in LANES])


@pytest.mark.parametrize(("after", "turns"), [(False, 4), (True, 5)])
def test_a_loop_of_a_given_number_of_iterations(after, turns):
    always = s.Compare("bool", ">=", LANE, number(0))
    got = run(s.While("w", 4, always, [count()], after=after))
    np.testing.assert_array_equal(got, np.full(32, 32 * turns))


def test_lanes_that_return_do_not_write():
    got = run(s.If(below(8), [s.Return(None)], []), count())
    np.testing.assert_array_equal(got[8:], np.full(24, 24))
    assert (got[:8] != 24).all()


def test_a_fallthrough_case_meets_the_next_case():
    value = s.Binary("uint", "%", LANE, number(4))
    cases = [s.Case([1], [], falls=True), s.Case([2], [count()], falls=False)]
    got = run(s.Switch(value, [*cases, s.Case([], [count()], falls=False)]))
    np.testing.assert_array_equal(got, np.full(32, 16))


def test_returned_lanes_wait_after_the_call():
    early = s.Return(s.Together("uint", "simd_sum", [number(1)]))
    last = s.Together("uint", "simd_sum", [number(100)])
    body: s.Block = [s.If(s.Compare("bool", "<", s.Name("uint", "a"), number(8)), [early], [])]
    function = s.Function("f", "uint", [("a", "uint")], body, last, inlined=True)
    got = run(s.Assign(TOTAL, s.UserCall("uint", "f", [LANE])), count(), functions=[function])
    np.testing.assert_array_equal(got, np.where(LANES < 8, 8, 2400) + 32)


def test_the_second_operand_of_a_condition_runs_for_some_lanes():
    vote = s.Together("bool", "simd_all", [below(8)])
    got = run(s.If(s.Logic("bool", "&&", below(8), vote), [count()], []))
    np.testing.assert_array_equal(got, np.where(LANES < 8, 8, 0))


def test_the_last_simdgroup_may_have_fewer_lanes():
    np.testing.assert_array_equal(run(count(), threads=40), [32] * 32 + [8] * 8)


def test_writes_of_other_threads_are_read_after_the_barrier():
    tid = s.Name("uint", "tid")
    program = s.Program(
        seed=0,
        threads=(33, 1, 1),
        grid=(50, 1, 1),
        body=[
            s.Exchange(
                "t0",
                [s.Assign(s.OwnShared("uint", "t0"), tid)],
                [
                    s.Assign(
                        s.OwnOutput("uint", "out0", 0),
                        s.AnyShared("uint", "t0", s.Binary("uint", "+", tid, number(1))),
                    )
                ],
            )
        ],
        outputs=[s.Output("out0", "uint", 1, "rows")],
        shared=[s.Shared("t0", "uint", "same")],
    )
    want = [*range(1, 33), 0, *range(1, 17), 0]
    np.testing.assert_array_equal(expected(program)["out0"], want)


ACTIVE = np.array([LANES % 3 != 0])
VALUES = np.array([(LANES * 7) % 23], np.uint32)


@pytest.mark.parametrize(
    ("function", "more", "want"),
    [
        ("simd_sum", [], lambda v, on: np.full(32, v[on].sum())),
        ("simd_max", [], lambda v, on: np.full(32, v[on].max())),
        ("simd_min", [], lambda v, on: np.full(32, v[on].min())),
        ("quad_sum", [], lambda v, on: np.repeat((v * on).reshape(8, 4).sum(axis=1), 4)),
        ("simd_prefix_inclusive_sum", [], lambda v, on: np.cumsum(v * on)),
        ("simd_prefix_exclusive_sum", [], lambda v, on: np.cumsum(v * on) - v * on),
        ("simd_shuffle_xor", [1], lambda v, on: (v * on)[LANES ^ 1]),
        ("simd_shuffle_up", [1], lambda v, on: (v * on)[np.maximum(LANES - 1, 0)]),
        ("simd_shuffle_rotate_down", [1], lambda v, on: (v * on)[(LANES + 1) % 32]),
        ("simd_broadcast_first", [], lambda v, on: np.full(32, v[1])),
        ("quad_broadcast_first", [], lambda v, on: v[LANES // 4 * 4 + (LANES // 4 * 4 % 3 == 0)]),
        ("simd_is_first", [], lambda v, on: LANES == 1),
        ("simd_active_threads_mask", [], lambda v, on: np.full(32, (on << LANES).sum())),
    ],
)
def test_functions_of_some_lanes(function, more, want):
    operands = [] if function.endswith(("is_first", "mask")) else [VALUES]
    operands += [np.full((1, 32), each, np.uint16) for each in more]
    got = together(function, operands, ACTIVE)[0]
    on = ACTIVE[0]
    np.testing.assert_array_equal(got[on], want(VALUES[0].astype(np.int64), on)[on])


def test_conversions_are_metals():
    given = np.array([np.nan, 1e20, -1e20, -1.5, 300.7], np.float32)
    np.testing.assert_array_equal(cast(given, "uchar"), [0, 255, 0, 0, 255])
    np.testing.assert_array_equal(cast(given, "int"), [0, 2**31 - 1, -(2**31), -1, 300])


@pytest.mark.parametrize(
    ("function", "operands", "want"),
    [
        ("clz", [1, 0, 1 << 31], [31, 32, 0]),
        ("ctz", [1, 0, 1 << 31], [0, 32, 31]),
        ("popcount", [0xFF, 0, 3], [8, 0, 2]),
        ("reverse_bits", [1, 2, 0], [1 << 31, 1 << 30, 0]),
    ],
)
def test_functions_of_bits(function, operands, want):
    got = builtin(function, [np.array([operands], np.uint32)], "uint")
    np.testing.assert_array_equal(got[0], want)


def taking(taken: s.Taken) -> s.Function:
    """Adds one to the first element that it is given, which is its result."""
    first = s.Element("uint", taken.name, number(0))
    more = s.Assign(first, s.Binary("uint", "+", first, number(1)))
    return s.Function("h", "uint", [], [more], first, inlined=True, arrays=[taken])


@pytest.mark.parametrize("copied", [False, True])
def test_a_write_through_a_pointer_changes_the_callers_variable(copied):
    call = s.UserCall("uint", "h", [], [s.Given("p", LANE, 2, copied)])
    second = s.Element("uint", "p", number(1))
    got = run(
        s.DeclareArray("p", "uint", 2),
        s.If(below(8), [s.Assign(TOTAL, call)], []),
        s.Assign(TOTAL, s.Binary("uint", "+", TOTAL, s.Binary("uint", "*", second, number(10)))),
        functions=[taking(s.Taken("q", "uint", 1, copied))],
    )
    written = 0 if copied else 10 * (LANES % 2)
    np.testing.assert_array_equal(got, np.where(LANES < 8, 1 + written, 0))


@pytest.mark.parametrize("index", [LANE, s.Unary("uint", "-", number(1))])
def test_an_access_beyond_an_array_is_reported(index):
    read = s.Assign(TOTAL, s.Element("uint", "p", index))
    with pytest.raises(IndexError, match="beyond 31 elements"):
        run(s.DeclareArray("p", "uint", 31), read)


def test_addresses_of_inactive_lanes_may_be_invalid():
    read = s.Assign(TOTAL, s.Element("uint", "p", LANE))
    filled = s.Assign(s.Element("uint", "p", number(3)), number(5))
    got = run(s.DeclareArray("p", "uint", 8), filled, s.If(below(8), [read], []))
    np.testing.assert_array_equal(got[LANES < 8], np.where(LANES[LANES < 8] == 3, 5, 0))


def test_an_atomic_operation_returns_the_previous_value():
    fetch = s.Fetch("w", "add", number(5))
    again = s.Fetch("u", "max", number(0))
    got = run(fetch, again, s.Assign(TOTAL, s.Name("uint", "u")))
    np.testing.assert_array_equal(got, 7 * LANES + 5)


def test_components_by_their_letters():
    vector, pair = s.Name("uint4", "v4"), s.Make("uint2", [LANE, number(3)])
    read = s.Component("uint", s.Swizzle("uint2", vector, "wx"), number(1))
    got = run(
        s.Declare("v4", s.Make("uint4", [number(9)] * 4)),
        s.If(below(8), [s.Assign(s.Swizzle("uint2", vector, "xz"), pair)], []),
        s.Assign(TOTAL, read),
    )
    np.testing.assert_array_equal(got, np.where(LANES < 8, LANES, 9))


def test_numbers_beyond_64_bits():
    large = np.array([1e30, -1e30, 2.0**63, np.nan], np.float32)
    assert cast(large, "long").tolist() == [2**63 - 1, -(2**63), 2**63 - 1, 0]
    assert cast(large, "ulong").tolist() == [2**64 - 1, 0, 2**63, 0]
