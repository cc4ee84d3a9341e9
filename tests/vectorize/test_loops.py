"""Loops that lanes leave in different iterations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from vectorize.launches import Form
from vectorize.one_lane import OUT, each, program


def test_temporal_divergence(check_ways, a):
    """Values used after the loop are those of each lane's last iteration."""
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


# Break, continue, and a return from within.
WAYS_OUT = program(
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


def test_several_exits_of_a_loop(check_ways, a):
    """Phis after it depend on the exit."""

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
        check_ways(WAYS_OUT, each(lane), a=a, out=OUT, n=n)


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


def test_phis_that_swap_values(check_ways, a):
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


def list_iterations(lanes: Sequence[int], lengths: np.ndarray) -> list[list[int]]:
    """Return the active lanes of each iteration of a loop with a length per lane."""
    most = max((int(lengths[lane]) for lane in lanes), default=0)
    found = [
        [lane for lane in lanes if turn < max(lengths[lane], 1)] for turn in range(max(most, 1))
    ]
    return [each for each in found if each]


@pytest.mark.parametrize("form", [Form(), Form(rows=False), Form(rows=False, live=0x0F00FF10)])
def test_simd_functions_in_a_loop_use_its_active_lanes(check_form, form, a):
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
        for turn, lanes in enumerate(list_iterations(t.lane, a)):
            for lane in lanes:
                out[lane] += turn * a[lanes].sum()

    check_form(form, body, want, a=a, out=OUT)


@pytest.mark.parametrize("form", [Form(), Form(rows=False, live=0xFFFFFFF3)])
def test_returned_lanes_do_not_contribute_to_later_sums(check_form, form, a):
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
        for turn, lanes in enumerate(list_iterations(staying, a)):
            some = [lane for lane in lanes if a[lane] & turn]
            for lane in lanes:
                out[lane] += len(lanes) + (a[some].max() if lane in some else 0)

    check_form(form, body, want, a=a, out=OUT)
