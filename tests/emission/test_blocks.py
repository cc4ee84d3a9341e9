"""Ways through blocks: every lane comes out as if it had gone alone."""

from __future__ import annotations

import numpy as np
import pytest
from emission.launches import ROWS, emitted
from emission.one_lane import OUT, A, each, program

from metalbench.msl.ir.text import IrError


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
