"""Scalar regions: live-ins, live-outs, and shared functions."""

from __future__ import annotations

import re

import numpy as np
import pytest
from vectorize.launches import ROWS, module

from metalbench.msl.vectorize.module import vectorize_module

A = np.random.default_rng(1).integers(0, 16, 32, "u4")
OUT = np.zeros(32, "u4")
REGION = """
    %v = load i32, ptr %a.lane
    BEFORE
    %c = icmp ult i32 %v, 8
    br i1 %c, label %then, label %end
  then:
    INSIDE
    br label %end
  end:
    ret void"""


def emit_regions(body: str, **memory: np.ndarray) -> str:
    """Return the functions of scalar regions."""
    text = vectorize_module(module(body, "", memory), ROWS.launch)
    found = re.findall(
        r"^define internal void @mb_scalar_region.*?^}", text, re.MULTILINE | re.DOTALL
    )
    return "\n".join(found)


def region(inside: str, before: str = "") -> str:
    return REGION.replace("INSIDE", inside).replace("BEFORE", before)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lane", lambda t: t.lane),
        ("index", lambda t: t.index),
        ("x", lambda t: t.x),
        ("y", lambda t: t.y),
        ("z", lambda t: t.z),
        ("simdgroup", lambda t: np.full_like(t.lane, 2)),
    ],
)
def test_positions_in_a_region(check, name, value):
    """Positions inside of a region."""
    inside = f"%w = call i32 @mb_vector_{name}()\nstore i32 %w, ptr %out.lane"

    def want(t, a, out):
        out[t.lane] = np.where(a[t.lane] < 8, value(t), out[t.lane])

    check(region(inside), want, a=A, out=OUT)


def test_live_ins(check):
    """In every representation: varying, affine, checked, constant, uniform, vectors, masks."""
    before = """
        %k = add i32 %index, %start
        %w = zext i32 %k to i64
        %known = xor i32 %lane, 5
        %twice = mul i32 %index, 2
        %both = insertelement <2 x i32> <i32 1, i32 2>, i32 %v, i64 1
        %pair = insertvalue { i32, i1 } poison, i32 %v, 0
        %even = trunc i32 %v to i1
        %p = getelementptr i32, ptr %a, i64 3"""
    inside = """
        %w32 = trunc i64 %w to i32
        %e = extractelement <2 x i32> %both, i64 1
        %f = extractvalue { i32, i1 } %pair, 0
        %g = zext i1 %even to i32
        %h = load i32, ptr %p
        %s1 = add i32 %w32, %known
        %s2 = add i32 %s1, %twice
        %s3 = add i32 %s2, %e
        %s4 = add i32 %s3, %f
        %s5 = add i32 %s4, %g
        %s6 = add i32 %s5, %h
        %s7 = mul i32 %s6, %start
        store i32 %s7, ptr %out.lane"""

    def want(t, a, out, start):
        v, start = a[t.lane].astype("i8"), int(start)
        total = (t.index + start) % 2**32 + (t.lane ^ 5) + 2 * t.index + 2 * v + v % 2 + a[3]
        out[t.lane] = np.where(v < 8, total * start % 2**32, 0)

    for start in (3, -70):
        check(region(inside, before), want, a=A, out=OUT, start=start)


def test_a_live_in_whose_uses_are_behind_the_loop(check):
    """The branch is in the loop, in another block than the value; its only use is behind it."""
    body = """
        %v = load i32, ptr %a.lane
        br label %loop
      loop:
        %i = phi i32 [ 0, %entry ], [ %next, %latch ]
        %k = mul i32 %i, 3
        %whole = icmp eq i32 %i, 9
        br i1 %whole, label %latch, label %middle
      middle:
        %c = icmp ult i32 %v, %i
        br i1 %c, label %end, label %latch
      latch:
        %next = add i32 %i, 1
        %more = icmp ult i32 %next, 12
        br i1 %more, label %loop, label %end
      end:
        %e = add i32 %k, 1
        store i32 %e, ptr %out.lane
        ret void"""

    def want(t, a, out):
        first = np.where(a[t.lane] == 8, 10, a[t.lane] + 1)
        out[t.lane] = 3 * np.minimum(first, 11) + 1

    check(body, want, a=A, out=OUT)


@pytest.mark.parametrize("kind", ["affine", "checked", "uniform", "constant"])
def test_live_outs_in_the_representation_of_their_uniformity(check, kind):
    """An affine phi whose values are stored lane by lane."""
    value = {"affine": "%index", "checked": "%w", "uniform": "%n", "constant": "%lane"}[kind]
    type_ = "i64" if kind == "checked" else "i32"
    before = "%k = add i32 %index, %n\n%w = zext i32 %k to i64"
    body = f"""
        %v = load i32, ptr %a.lane
        {before}
        %c = icmp ult i32 %v, 8
        br i1 %c, label %then, label %end
      then:
        store i32 %v, ptr %rest.lane
        br label %end
      end:
        %r = phi {type_} [ {value}, %then ], [ {value}, %entry ]
        %s = add {type_} %r, 1
        store {type_} %s, ptr %out.lane"""

    def want(t, a, rest, out, n):
        v = a[t.lane]
        rest[t.lane] = np.where(v < 8, v, 0)
        wide = (t.index + int(n)) % 2**32
        out[t.lane] = {"affine": t.index, "checked": wide, "uniform": n, "constant": t.lane}[
            kind
        ] + 1

    out = np.zeros(32, "u8" if kind == "checked" else "u4")
    check(body, want, a=A, rest=OUT, out=out, n=5)


def test_private_arrays_of_a_lane(check):
    """Vectors in interleaved memory, read and written by one lane."""
    body = """
        %own = alloca [2 x <2 x i32>], align 8
        %v = load i32, ptr %a.lane
        %start = insertelement <2 x i32> <i32 1, i32 2>, i32 %v, i64 1
        store <2 x i32> %start, ptr %own
        %second = getelementptr <2 x i32>, ptr %own, i64 1
        store <2 x i32> zeroinitializer, ptr %second
        %c = icmp ult i32 %v, 8
        br i1 %c, label %then, label %end
      then:
        %x1 = load <2 x i32>, ptr %own
        %y1 = add <2 x i32> %x1, splat (i32 10)
        store <2 x i32> %y1, ptr %second
        br label %end
      end:
        %z1 = load <2 x i32>, ptr %second
        %e = extractelement <2 x i32> %z1, i64 1
        store i32 %e, ptr %out.lane"""

    def want(t, a, out):
        out[t.lane] = np.where(a[t.lane] < 8, a[t.lane] + 10, 0)

    check(body, want, a=A, out=OUT)


def test_a_loop_of_one_lane_stays_small():
    """Scalars, whatever the width."""
    inside = """
        br label %loop
      loop:
        %t = phi i32 [ 0, %then ], [ %t1, %loop ]
        %t1 = add i32 %t, %v
        %d = icmp ult i32 %t1, 100
        br i1 %d, label %loop, label %last
      last:
        store i32 %t1, ptr %out.lane"""
    text = emit_regions(region(inside), a=A, out=OUT)
    assert "add i32" in text
    assert "<32 x i32>" not in text


NESTED = """
    %v = load i32, ptr %a.lane
    %c = icmp ult i32 %v, 12
    br i1 %c, label %then, label %end
  then:
    %d = icmp ult i32 %v, 8
    br i1 %d, label %low, label %on
  low:
    %x = mul i32 %v, 3
    br label %on
  on:
    %y = phi i32 [ %v, %then ], [ %x, %low ]
    br label %end
  end:
    %r = phi i32 [ 1000, %entry ], [ %y, %on ]
    store i32 %r, ptr %out.lane"""


@pytest.mark.parametrize("a", [A, np.where(A < 8, A, 11).astype("u4"), np.full(32, 9, "u4")])
def test_nested_branches_share_a_function(check, a):
    """Lanes enter at either branch, and leave at the join of that branch."""

    def want(t, a, out):
        v = a[t.lane]
        out[t.lane] = np.where(v < 12, np.where(v < 8, 3 * v, v), 1000)

    check(NESTED, want, a=a, out=OUT)
    text = emit_regions(NESTED, a=a, out=OUT)
    assert text.count("define internal void @mb_scalar_region") == 1
    assert text.count("mul i32 %") == 1
    assert "i32 1, label %entry.1" in text


def test_equal_regions_are_merged(check, a):
    """Each call has separate live-ins and live-outs."""
    twice = """
    br label %first
  first:
    %v = load i32, ptr %a.lane
    %c = icmp ult i32 %v, 8
    br i1 %c, label %then, label %between
  then:
    %w = mul i32 %v, 3
    br label %between
  between:
    %x = phi i32 [ %w, %then ], [ %v, %first ]
    %d = icmp ult i32 %x, 8
    br i1 %d, label %again, label %end
  again:
    %y = mul i32 %x, 3
    br label %end
  end:
    %z = phi i32 [ %y, %again ], [ %x, %between ]
    store i32 %z, ptr %out.lane
    ret void"""

    def want(t, a, out):
        once = np.where(a[t.lane] < 8, 3 * a[t.lane], a[t.lane])
        out[t.lane] = np.where(once < 8, 3 * once, once)

    check(twice, want, a=a, out=OUT)
    text = vectorize_module(module(twice, "", {"a": a, "out": OUT}), ROWS.launch)
    assert text.count("define internal void @mb_scalar_region") == 1
    assert text.count("call void @mb_scalar_region.0(") == 2


def test_recomputed_values_are_not_live_ins():
    """In a divergent loop only values of the previous iteration are."""
    body = """
        %v = load i32, ptr %a.lane
        br label %loop
      loop:
        %t = phi i32 [ 0, %entry ], [ %next, %loop ]
        %big = mul i32 %t, %v
        %more = xor i32 %big, 12345
        %next = add i32 %t, %more
        %d = icmp ult i32 %next, %v
        br i1 %d, label %loop, label %last
      last:
        store i32 %next, ptr %out.lane"""
    text = vectorize_module(module(body, "", {"a": A, "out": OUT}), ROWS.launch)
    sent = re.findall(r"store <32 x \w+> %\S+ ptr %v\.\d+, align 16", text)
    assert 1 <= len(sent) <= 3  # %v, %next, %d


def test_a_short_region_of_a_constant_lane_is_inlined():
    body = """
        %c = icmp eq i32 %lane, 0
        br i1 %c, label %then, label %end
      then:
        store i32 %x, ptr %out
        br label %end
      end:
        ret void"""
    assert "alwaysinline {" in emit_regions(body, out=OUT)
    rarely = region("store i32 %v, ptr %out.lane")
    assert "cold noinline {" in emit_regions(rarely, a=A, out=OUT)
