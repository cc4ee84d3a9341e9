"""Ways through blocks: every lane comes out as if it had gone alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from emission.launches import ROWS, Form, emitted

from metalbench.msl.ir.text import IrError

OUT = np.zeros(32, "u4")
A = np.random.default_rng(1).integers(0, 16, 32, "u4")
KINDS = {
    "mixed": A,
    "alike": np.full(32, 9, "u4"),
    "one apart": np.where(np.arange(32) == 7, 2, 9).astype("u4"),
    "none": np.zeros(32, "u4"),
}
Lane = Callable[..., int | None]


def each(function: Lane) -> Callable[..., None]:
    """What a lane leaves in `out`, by a function of its element of `a`; None leaves what is there."""

    def want(t: object, a: np.ndarray, out: np.ndarray, n: int = 0) -> None:
        for lane in t.lane:
            found = function(int(a[lane]), int(n))
            if found is not None:
                out[lane] = found % 2**32

    return want


def program(*blocks: str) -> str:
    return "%v = load i32, ptr %a.lane\n" + "\n".join(blocks)


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def a(request) -> np.ndarray:
    return request.param


def test_two_sides(check_ways, a):
    body = program(
        """%c = icmp ult i32 %v, 8
        br i1 %c, label %low, label %high
      low:
        %x1 = mul i32 %v, 3
        TOGETHER
        br label %end
      high:
        %x2 = add i32 %v, 100
        TOGETHER
        br label %end
      end:
        %r = phi i32 [ %x1, %low ], [ %x2, %high ]
        store i32 %r, ptr %out.lane"""
    )
    check_ways(body, each(lambda v, n: 3 * v if v < 8 else v + 100), a=a, out=OUT)


def test_sides_within_sides_with_a_uniform_branch(check_ways, a):
    body = program(
        """%c = icmp ult i32 %v, 8
        br i1 %c, label %low, label %end
      low:
        TOGETHER
        %u = icmp sgt i32 %n, 3
        br i1 %u, label %yes, label %no
      yes:
        %k = and i32 %v, 1
        %odd = icmp eq i32 %k, 1
        br i1 %odd, label %deep, label %no
      deep:
        TOGETHER
        %x = mul i32 %v, 7
        br label %no
      no:
        %w = phi i32 [ %n, %low ], [ %v, %yes ], [ %x, %deep ]
        br label %end
      end:
        %r = phi i32 [ 1000, %entry ], [ %w, %no ]
        store i32 %r, ptr %out.lane"""
    )

    def lane(v, n):
        if v >= 8:
            return 1000
        if n <= 3:
            return n
        return 7 * v if v % 2 else v

    for n in (1, 5):
        check_ways(body, each(lane), a=a, out=OUT, n=n)


def test_an_early_return(check_ways, a):
    body = program(
        """%c = icmp ult i32 %v, 3
        br i1 %c, label %leave, label %on
      leave:
        store i32 7, ptr %out.lane
        ret void
      on:
        %d = icmp ugt i32 %v, 12
        br i1 %d, label %gone, label %rest
      gone:
        TOGETHER
        ret void
      rest:
        TOGETHER
        store i32 %v, ptr %out.lane
        ret void"""
    )
    check_ways(body, each(lambda v, n: 7 if v < 3 else None if v > 12 else v), a=a, out=OUT)


def test_a_switch(check_ways, a):
    """With several cases for one target, whose phi has an operand for each of them."""
    body = program(
        """switch i32 %v, label %other [
          i32 0, label %zero
          i32 1, label %few
          i32 2, label %few
          i32 9, label %end
        ]
      zero:
        br label %end
      few:
        %f = phi i32 [ 5, %entry ], [ 5, %entry ]
        TOGETHER
        %x = add i32 %v, %f
        br label %end
      other:
        %y = shl i32 %v, 4
        TOGETHER
        br label %end
      end:
        %r = phi i32 [ 77, %zero ], [ %x, %few ], [ %y, %other ], [ 99, %entry ]
        store i32 %r, ptr %out.lane"""
    )
    few = {0: 77, 1: 6, 2: 7, 9: 99}
    check_ways(body, each(lambda v, n: few.get(v, v << 4)), a=a, out=OUT)


@pytest.mark.parametrize("n", [-3, 1, 4])
def test_a_switch_of_all_lanes(check, n):
    body = program(
        """switch i32 %n, label %other [
          i32 -3, label %one
          i32 4, label %two
        ]
      one:
        br label %end
      two:
        br label %end
      other:
        br label %end
      end:
        %r = phi i32 [ %v, %one ], [ 8, %two ], [ 9, %other ]
        store i32 %r, ptr %out.lane"""
    )
    check(body, each(lambda v, n: {-3: v, 4: 8}.get(n, 9)), a=A, out=OUT, n=n)


def test_a_loop_that_lanes_leave_at_different_times(check_ways, a):
    """What is used behind it is of each lane's own last turn."""
    body = program(
        """br label %loop
      loop:
        %t = phi i32 [ 0, %entry ], [ %t1, %loop ]
        %s = phi i32 [ %n, %entry ], [ %s1, %loop ]
        TOGETHER
        %t1 = add i32 %t, 1
        %s1 = add i32 %s, %t1
        %twice = mul i32 %t, 2
        %c = icmp ult i32 %t1, %v
        br i1 %c, label %loop, label %end
      end:
        %x = add i32 %s, %twice
        %y = mul i32 %t1, 1000
        %r = add i32 %x, %y
        store i32 %r, ptr %out.lane"""
    )

    def lane(v, n):
        t, s = 0, n
        while True:
            t1, s1 = t + 1, s + t + 1
            if t1 >= v:
                return s + 2 * t + 1000 * t1
            t, s = t1, s1

    check_ways(body, each(lane), a=a, out=OUT, n=3)


def test_ways_out_of_the_middle_of_a_loop(check_ways, a):
    """Break, continue, and a return from within; phis behind it tell who came which way."""
    body = program(
        """br label %loop
      loop:
        %t = phi i32 [ 0, %entry ], [ %t1, %next ]
        %s = phi i32 [ 0, %entry ], [ %s2, %next ]
        %t1 = add i32 %t, 1
        %b = icmp eq i32 %t, %v
        br i1 %b, label %broken, label %on
      broken:
        %sb = add i32 %s, 10000
        br label %end
      on:
        TOGETHER
        %k = and i32 %t, %v
        %c = icmp eq i32 %k, 0
        br i1 %c, label %next, label %work
      work:
        %s1 = add i32 %s, %k
        %e = icmp ugt i32 %s1, 20
        br i1 %e, label %gone, label %next
      gone:
        store i32 %s1, ptr %out.lane
        ret void
      next:
        %s2 = phi i32 [ %s, %on ], [ %s1, %work ]
        TOGETHER
        %d = icmp slt i32 %t1, %n
        br i1 %d, label %loop, label %end
      end:
        %r = phi i32 [ %sb, %broken ], [ %s2, %next ]
        %q = add i32 %r, %t1
        store i32 %q, ptr %out.lane"""
    )

    def lane(v, n):
        t = s = 0
        while True:
            if t == v:
                return s + 10000 + t + 1
            k = t & v
            if k:
                s += k
                if s > 20:
                    return s
            t += 1
            if t >= n:
                return s + t

    for n in (1, 8, 30):
        check_ways(body, each(lane), a=a, out=OUT, n=n)


def test_loops_within_loops(check_ways, a):
    """The inner one of each lane's own length, in an outer one of a length that all share."""
    body = program(
        """br label %outer
      outer:
        %o = phi i32 [ 0, %entry ], [ %o1, %last ]
        %s = phi i32 [ 0, %entry ], [ %s3, %last ]
        br label %inner
      inner:
        %i2 = phi i32 [ %o, %outer ], [ %i3, %inner ]
        %s2 = phi i32 [ %s, %outer ], [ %s3, %inner ]
        TOGETHER
        %m = mul i32 %i2, %o
        %s3 = add i32 %s2, %m
        %i3 = add i32 %i2, 1
        %c = icmp ult i32 %i3, %v
        br i1 %c, label %inner, label %last
      last:
        %o1 = add i32 %o, 1
        %d = icmp slt i32 %o1, %n
        br i1 %d, label %outer, label %end
      end:
        %r = add i32 %s3, %i3
        store i32 %r, ptr %out.lane"""
    )

    def lane(v, n):
        s = o = 0
        while True:
            i = o
            while True:
                s += i * o
                i += 1
                if i >= v:
                    break
            o += 1
            if o >= n:
                return s + i

    check_ways(body, each(lane), a=a, out=OUT, n=5)


def test_a_loop_within_one_that_lanes_leave(check_ways, a):
    body = program(
        """%none = icmp eq i32 %v, 0
        br i1 %none, label %end, label %outer
      outer:
        %o = phi i32 [ 0, %entry ], [ %o1, %last ]
        %s = phi i32 [ 1, %entry ], [ %s3, %last ]
        %w = xor i32 %o, %n
        br label %inner
      inner:
        %j = phi i32 [ 0, %outer ], [ %j1, %inner ]
        %s2 = phi i32 [ %s, %outer ], [ %s3, %inner ]
        TOGETHER
        %s3 = add i32 %s2, %w
        %j1 = add i32 %j, 1
        %c = icmp ult i32 %j, %o
        br i1 %c, label %inner, label %last
      last:
        %o1 = add i32 %o, 1
        %d = icmp ult i32 %o1, %v
        br i1 %d, label %outer, label %end
      end:
        %r = phi i32 [ 4, %entry ], [ %s3, %last ]
        %h = phi i32 [ 5, %entry ], [ %w, %last ]
        %q = add i32 %r, %h
        store i32 %q, ptr %out.lane"""
    )

    def lane(v, n):
        if v == 0:
            return 9
        s = 1
        for o in range(v):
            s += (o + 1) * (o ^ n)
        return s + (v - 1 ^ n)

    check_ways(body, each(lane), a=a, out=OUT, n=6)


def test_phis_that_change_places(check_ways, a):
    body = program(
        """br label %loop
      loop:
        %x1 = phi i32 [ %v, %entry ], [ %y1, %loop ]
        %y1 = phi i32 [ 1000, %entry ], [ %x1, %loop ]
        %k = phi i32 [ %n, %entry ], [ %m, %loop ]
        %m = phi i32 [ 3, %entry ], [ %k, %loop ]
        %t = phi i32 [ 0, %entry ], [ %t1, %loop ]
        TOGETHER
        %t1 = add i32 %t, 1
        %c = icmp ult i32 %t, %v
        br i1 %c, label %loop, label %end
      end:
        %r = mul i32 %x1, 7
        %q = add i32 %r, %k
        store i32 %q, ptr %out.lane"""
    )

    def lane(v, n):
        x = v if v % 2 == 0 else 1000
        return 7 * x + (n if v % 2 == 0 else 3)

    check_ways(body, each(lane), a=a, out=OUT, n=50)


@pytest.mark.parametrize(
    ("type_", "one", "other", "back"),
    [
        ("ptr", "%a.lane", "%here", "%p = load i32, ptr %r"),
        ("<2 x i32>", "%both", "<i32 4, i32 5>", "%p = extractelement <2 x i32> %r, i64 1"),
        ("{ i32, i1 }", "%pair", "zeroinitializer", "%p = extractvalue { i32, i1 } %r, 0"),
        ("i1", "%c2", "true", "%p = zext i1 %r to i32"),
        ("float", "%f", "2.0", "%p = fptoui float %r to i32"),
        ("i32", "poison", "%v", "%p = add i32 %v, 0"),
        ("i32", "%lane", "%lane", "%p = add i32 %r, 1"),
        ("i32", "%index", "%index", "%p = add i32 %r, 1"),
        ("i32", "%n", "%n", "%p = add i32 %r, 1"),
        ("i32", "%n", "8", "%p = add i32 %r, 1"),
        ("i32", "%lane", "%index", "%p = add i32 %r, 1"),
    ],
)
def test_phis_of_every_kind(check_ways, type_, one, other, back):
    body = program(
        f"""%here = getelementptr i32, ptr %a, i64 3
        %both = insertelement <2 x i32> <i32 1, i32 2>, i32 %v, i64 1
        %pair = insertvalue {{ i32, i1 }} poison, i32 %v, 0
        %c2 = icmp ult i32 %v, 4
        %f = uitofp i32 %v to float
        %c = icmp ult i32 %v, 8
        br i1 %c, label %then, label %end
      then:
        TOGETHER
        br label %end
      end:
        %r = phi {type_} [ {one}, %then ], [ {other}, %entry ]
        {back}
        store i32 %p, ptr %out.lane"""
    )

    def want(t, a, out, n):
        v = a[t.lane]
        first, second = {
            "ptr": (v, a[3]),
            "<2 x i32>": (v, 5),
            "{ i32, i1 }": (v, 0),
            "i1": (v < 4, 1),
            "float": (v, 2),
        }.get(
            type_,
            {
                ("poison", "%v"): (v, v),
                ("%lane", "%lane"): (t.lane + 1, t.lane + 1),
                ("%index", "%index"): (t.index + 1, t.index + 1),
                ("%n", "%n"): (n + 1, n + 1),
                ("%n", "8"): (n + 1, 9),
                ("%lane", "%index"): (t.lane + 1, t.index + 1),
            }.get((one, other)),
        )
        out[t.lane] = np.where(v < 8, first, second)

    check_ways(body, want, a=A, out=OUT, n=21)


def test_values_that_follow_through_both_kinds_of_blocks(check_ways):
    """A linear value and what all share, made where lanes have parted and used in the next block."""
    body = program(
        """%c = icmp ult i32 %v, 8
        br i1 %c, label %then, label %end
      then:
        TOGETHER
        %at = add i32 %index, 1
        %all = mul i32 %n, 3
        %d = icmp ult i32 %v, 4
        br i1 %d, label %deep, label %more
      deep:
        TOGETHER
        br label %more
      more:
        %e = phi i32 [ 10, %then ], [ 20, %deep ]
        %s = add i32 %at, %all
        %q = add i32 %s, %e
        %w = zext nneg i32 %at to i64
        %p = getelementptr i32, ptr %table, i64 %w
        %x1 = load i32, ptr %p
        %y1 = add i32 %q, %x1
        br label %end
      end:
        %r = phi i32 [ 0, %entry ], [ %y1, %more ]
        store i32 %r, ptr %out.lane"""
    )

    def want(t, a, table, out, n):
        v = a[t.lane]
        found = t.index + 1 + 3 * n + np.where(v < 4, 20, 10) + table[t.index + 1]
        out[t.lane] = np.where(v < 8, found, 0)

    table = np.random.default_rng(2).integers(0, 1000, 128, "u4")
    check_ways(body, want, a=A, table=table, out=OUT, n=5)


def turns(lanes: Sequence[int], lengths: np.ndarray) -> list[list[int]]:
    """The lanes that are in each turn of a loop of each lane's own length, one at least."""
    most = max((int(lengths[lane]) for lane in lanes), default=0)
    found = [
        [lane for lane in lanes if turn < max(lengths[lane], 1)] for turn in range(max(most, 1))
    ]
    return [each for each in found if each]


@pytest.mark.parametrize("form", [Form(), Form(rows=False), Form(rows=False, live=0x0F00FF10)])
def test_functions_of_simdgroups_in_a_loop_are_of_those_who_are_in_it(check_form, form, a):
    body = program(
        """br label %loop
      loop:
        %t = phi i32 [ 0, %entry ], [ %t1, %loop ]
        %s = phi i32 [ 0, %entry ], [ %s1, %loop ]
        %m = call i32 @mb_vector_sum_u32(i32 %v)
        %x1 = mul i32 %m, %t
        %s1 = add i32 %s, %x1
        %t1 = add i32 %t, 1
        %c = icmp ult i32 %t1, %v
        br i1 %c, label %loop, label %end
      end:
        store i32 %s1, ptr %out.lane"""
    )

    def want(t, a, out):
        for turn, lanes in enumerate(turns(t.lane, a)):
            for lane in lanes:
                out[lane] += turn * a[lanes].sum()

    check_form(form, body, want, a=a, out=OUT)


@pytest.mark.parametrize("form", [Form(), Form(rows=False, live=0xFFFFFFF3)])
def test_lanes_that_return_are_in_no_later_sum(check_form, form, a):
    """A loop of all, in which some take part in a second function."""
    body = program(
        """%gone = icmp ult i32 %v, 3
        br i1 %gone, label %leave, label %loop
      leave:
        ret void
      loop:
        %t = phi i32 [ 0, %entry ], [ %t1, %next ]
        %s = phi i32 [ 0, %entry ], [ %s2, %next ]
        %m = call i32 @mb_vector_sum_u32(i32 1)
        %k = and i32 %v, %t
        %odd = icmp ne i32 %k, 0
        br i1 %odd, label %some, label %next
      some:
        %most = call i32 @mb_vector_max_u32(i32 %v)
        br label %next
      next:
        %p = phi i32 [ 0, %loop ], [ %most, %some ]
        %s1 = add i32 %s, %m
        %s2 = add i32 %s1, %p
        %t1 = add i32 %t, 1
        %c = icmp ult i32 %t1, %v
        br i1 %c, label %loop, label %end
      end:
        store i32 %s2, ptr %out.lane
        ret void"""
    )

    def want(t, a, out):
        staying = [lane for lane in t.lane if a[lane] >= 3]
        for turn, lanes in enumerate(turns(staying, a)):
            some = [lane for lane in lanes if a[lane] & turn]
            for lane in lanes:
                out[lane] += len(lanes) + (a[some].max() if lane in some else 0)

    check_form(form, body, want, a=a, out=OUT)


def test_barriers_between_blocks(check_ways, a):
    """Only all lanes come to one; what is before it is done by all."""
    body = program(
        """%c = icmp ult i32 %v, 8
        br i1 %c, label %then, label %end
      then:
        TOGETHER
        store i32 %v, ptr %out.lane
        br label %end
      end:
        call void @mb_vector_barrier()
        %o = xor i32 %lane, 1
        %o64 = zext nneg i32 %o to i64
        %p = getelementptr i32, ptr %out, i64 %o64
        %r = load i32, ptr %p
        store i32 %r, ptr %rest.lane"""
    )

    def want(t, a, out, rest):
        out[t.lane] = np.where(a[t.lane] < 8, a[t.lane], out[t.lane])
        rest[t.lane] = out[t.lane ^ 1]

    check_ways(body, want, a=a, out=np.full(32, 50, "u4"), rest=OUT)


def test_where_lanes_do_not_part_there_are_no_masks():
    body = program(
        """%c = icmp sgt i32 %n, 3
        br i1 %c, label %then, label %end
      then:
        store i32 %v, ptr %out.lane
        br label %end
      end:
        ret void"""
    )
    text = emitted(body, ROWS, a=A, out=OUT, n=4)
    assert "i1>" not in text
    assert "llvm.cttz" not in text


def test_a_branch_that_lanes_take_alike_runs_no_masks_either():
    """Where lanes part and where they do not are two versions of one block."""
    body = program(
        """%c = icmp ult i32 %v, 8
        br i1 %c, label %then, label %end
      then:
        %m = call i32 @mb_vector_sum_u32(i32 %v)
        store i32 %m, ptr %out.lane
        br label %end
      end:
        ret void"""
    )
    text = emitted(body, ROWS, a=A, out=OUT)
    assert "b1:" in text
    assert "m1:" in text


def test_a_loop_that_nothing_leaves_is_refused():
    with pytest.raises(IrError, match="a loop that nothing ever leaves"):
        emitted("br label %loop\nloop:\nbr label %loop\nend:\nret void", out=OUT)


def test_a_loop_with_two_entries_is_refused():
    body = """
        %c = icmp sgt i32 %n, 3
        br i1 %c, label %one, label %two
      one:
        br label %two
      two:
        %d = icmp sgt i32 %n, 8
        br i1 %d, label %one, label %end
      end:
        ret void"""
    with pytest.raises(IrError, match="a loop with several entries"):
        emitted(body, n=4)


def test_loops_in_which_lanes_may_wait_for_each_other_are_refused():
    body = """
        br label %loop
      loop:
        %old = atomicrmw xchg ptr %lock, i32 1 acquire, align 4
        %c = icmp eq i32 %old, 0
        br i1 %c, label %end, label %loop
      end:
        ret void"""
    with pytest.raises(IrError, match="may wait for each other in a loop"):
        emitted(body, lock=OUT)
