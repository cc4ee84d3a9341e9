"""Control flow: every lane has the result that it has when it runs alone."""

from __future__ import annotations

import numpy as np
import pytest
from vectorize.launches import ROWS, emit_text
from vectorize.one_lane import OUT, A, each, program

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


@pytest.mark.parametrize("kind", ["i32", "i8"])
def test_a_switch_of_constants(check_ways, a, kind):
    """Constants that differ by lane; some of them lead to the join."""
    body = program(
        f"""%m = urem i32 %lane, 7
        %k = {"bitcast i32 %m to i32" if kind == "i32" else "trunc i32 %m to i8"}
        switch {kind} %k, label %end [
          {kind} 1, label %one
          {kind} 2, label %end
          {kind} 3, label %three
        ]
      one:
        TOGETHER
        %x = add i32 %v, 1
        br label %end
      three:
        %y = shl i32 %v, 4
        br label %end
      end:
        %r = phi i32 [ %x, %one ], [ %y, %three ], [ 99, %entry ], [ 99, %entry ]
        store i32 %r, ptr %out.lane"""
    )

    def want(threads, a, out):
        chosen = {1: a + 1, 3: a << 4}
        for lane in threads.lane:
            out[lane] = chosen[lane % 7][lane] if lane % 7 in chosen else 99

    check_ways(body, want, a=a, out=OUT)


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


def test_barriers_between_blocks(check_ways, a):
    """All lanes finish the work before a barrier."""
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


def test_uniform_branches_need_no_masks():
    body = program(
        """%c = icmp sgt i32 %n, 3
        br i1 %c, label %then, label %end
      then:
        store i32 %v, ptr %out.lane
        br label %end
      end:
        ret void"""
    )
    text = emit_text(body, ROWS, a=A, out=OUT, n=4)
    assert "i1>" not in text
    assert "llvm.cttz" not in text


def test_convergent_lanes_run_unmasked_blocks():
    """Each block has a masked and an unmasked version."""
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
    text = emit_text(body, ROWS, a=A, out=OUT)
    assert "b1:" in text
    assert "m1:" in text


def test_a_loop_without_an_exit_is_refused():
    with pytest.raises(IrError, match="a loop that nothing ever leaves"):
        emit_text("br label %loop\nloop:\nbr label %loop\nend:\nret void", out=OUT)


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
        emit_text(body, n=4)


def test_loops_with_waiting_lanes_are_refused():
    body = """
        br label %loop
      loop:
        %old = atomicrmw xchg ptr %lock, i32 1 acquire, align 4
        %c = icmp eq i32 %old, 0
        br i1 %c, label %end, label %loop
      end:
        ret void"""
    with pytest.raises(IrError, match="may wait for each other in a loop"):
        emit_text(body, lock=OUT)
