"""Slots between blocks: phis, and values of every representation."""

from __future__ import annotations

import numpy as np
import pytest
from vectorize.one_lane import OUT, A, program


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


def test_affine_values_in_masked_and_unmasked_blocks(check_ways):
    """An affine and a uniform value, defined in a masked block and used in the next."""
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
