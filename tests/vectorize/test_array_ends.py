"""Bounds guards: whole groups of elements, and single ones at the end of an array."""

from __future__ import annotations

import re

import numpy as np
import pytest
from vectorize.launches import ROWS, module

from metalbench.msl.vectorize.module import vectorize_module

ENDS = (0, 1, 65, 66, 127, 128, 200, 254, 255, 256, 257, 300, 378, 380, 381, 383, 384, 400)
SIZE = 512
# Three elements from three times a thread's number, or as many as there are before the end.
TAIL = """
    %index = call i32 @mb_vector_index()
    %at = mul nuw nsw i32 %index, 3
    %n = load i32, ptr %end
    %past = add nuw nsw i32 %at, 3
    %whole = icmp ule i32 %past, %n
    %p = getelementptr inbounds float, ptr %a, i32 %at
    %q = getelementptr inbounds float, ptr %b, i32 %at
    %p1 = getelementptr inbounds i8, ptr %p, i64 4
    %p2 = getelementptr inbounds i8, ptr %p, i64 8
    %q1 = getelementptr inbounds i8, ptr %q, i64 4
    %q2 = getelementptr inbounds i8, ptr %q, i64 8
    br i1 %whole, label %all, label %first
  all:
    %x0 = load float, ptr %p, align 4
    %x1 = load float, ptr %p1, align 4
    %x2 = load float, ptr %p2, align 4
    br label %end
  first:
    %is0 = icmp ult i32 %at, %n
    br i1 %is0, label %read0, label %second
  read0:
    %y0 = load float, ptr %p, align 4
    WRITE0
    br label %second
  second:
    %z0 = phi float [ %y0, %read0 ], [ 0.0, %first ]
    %at1 = add nuw nsw i32 %at, 1
    %is1 = icmp ult i32 %at1, %n
    br i1 %is1, label %read1, label %end
  read1:
    %y1 = load float, ptr %p1, align 4
    WRITE1
    br label %end
  end:
    %r0 = phi float [ %x0, %all ], [ %z0, %second ], [ %z0, %read1 ]
    %r1 = phi float [ %x1, %all ], [ 0.0, %second ], [ %y1, %read1 ]
    %r2 = phi float [ %x2, %all ], [ 0.0, %second ], [ 0.0, %read1 ]
    %s = fadd float %r0, %r1
    %t = fadd float %s, %r2
    store float %t, ptr %out.lane
    ret void"""


def text(write: str = "") -> str:
    """Return the body with stores of each loaded element."""
    return TAIL.replace("WRITE0", write.format(0, "")).replace("WRITE1", write.format(1, 1))


def arrays(end: int) -> dict[str, np.ndarray]:
    drawn = np.random.default_rng(end).integers(1, 9, SIZE).astype("f4")
    return {
        "a": drawn,
        "b": np.zeros(SIZE, "f4"),
        "end": np.array([end], "u4"),
        "out": np.zeros(32, "f4"),
    }


def sums(t, a, end, out):
    inside = np.where(np.arange(SIZE) < end, a, 0)
    at = 3 * t.index
    out[t.lane] = inside[at] + inside[at + 1] + inside[at + 2]


@pytest.mark.parametrize("end", ENDS)
def test_elements_before_the_end_are_loaded(check, end):
    check(text(), lambda t, a, b, end, out: sums(t, a, end[0], out), **arrays(end))


@pytest.mark.parametrize("end", ENDS)
def test_stores_are_not_repeated(check, end):
    """Divergence is not hoisted across stores."""
    write = """%w{0} = load float, ptr %q{1}, align 4
    %v{0} = fadd float %w{0}, %y{0}
    store float %v{0}, ptr %q{1}, align 4"""

    def want(t, a, b, end, out):
        sums(t, a, end[0], out)
        for at in 3 * t.index:
            if at + 3 > end[0]:
                count = max(0, min(2, int(end[0]) - int(at)))
                b[at : at + count] += a[at : at + count]

    check(text(write), want, **arrays(end))


# Lanes meet where there are four elements, or two; the read between keeps them from going back.
MEETING = """
    br label %begin
  begin:
    %at = load i32, ptr %a.lane
    %n = load i32, ptr %end
    %past = add i32 %at, 4
    %whole = icmp ule i32 %past, %n
    br i1 %whole, label %meet, label %rest
  rest:
    %again = load volatile i32, ptr %end
    %second = add i32 %at, 1
    %is = icmp ult i32 %second, %n
    br i1 %is, label %meet, label %less
  less:
    %one = icmp ult i32 %at, %n
    br i1 %one, label %last, label %meet
  last:
    store i32 9, ptr %out.lane
    br label %meet
  meet:
    %r = phi i32 [ 1, %begin ], [ 2, %rest ], [ 3, %less ], [ 4, %last ]
    store i32 %r, ptr %b.lane
    ret void"""


@pytest.mark.parametrize("first", [0, 3, 4, 5, 6, 7, 8])
@pytest.mark.parametrize("spread", [0, 1])
def test_all_lanes_near_the_end(check, first, spread):
    """A rare case: lanes diverge there, or branch to the join."""

    def want(t, a, b, end, out):
        rest = end[0] - a.astype("i4")
        b[t.lane] = np.where(rest >= 4, 1, np.where(rest > 1, 2, np.where(rest > 0, 4, 3)))[t.lane]
        out[t.lane] = np.where(rest == 1, 9, out)[t.lane]

    lanes = first + spread * (np.arange(32, dtype="u4") % 3)
    empty = np.zeros(32, "u4")
    check(MEETING, want, a=lanes.astype("u4"), b=empty, end=np.array([7], "u4"), out=empty)


def calls(body: str) -> int:
    """Return how many calls of scalar regions there are."""
    return vectorize_module(module(body, "", arrays(1)), ROWS.launch).count(
        "call void @mb_scalar_region"
    )


def test_guards_share_one_call():
    assert calls(text()) == 1


@pytest.mark.parametrize(
    "seen",
    [
        "store float 1.0, ptr %b, align 4",
        "%old = atomicrmw add ptr %end, i32 0 monotonic, align 4",
        "%old = load volatile i32, ptr %end, align 4",
        "call void @llvm.memset.p0.i64(ptr %b, i8 0, i64 4, i1 false)",
    ],
)
def test_divergence_is_not_hoisted_across_side_effects(seen):
    """Lanes are serialized from the later branch, too."""
    assert calls(text().replace("first:", f"first:\n    {seen}")) > 1


@pytest.mark.parametrize("same", ["%old = load i32, ptr %end", "%old = call i32 @mb_vector_x()"])
def test_divergence_is_hoisted_across_pure_instructions(same):
    assert calls(text().replace("first:", f"first:\n    {same}")) == 1


def test_the_join_is_a_unanimous_target():
    """No lane is left to serialize."""
    empty = np.zeros(32, "u4")
    made = vectorize_module(
        module(MEETING, "", dict(a=empty, b=empty, end=empty, out=empty)), ROWS.launch
    )
    body = made[made.index("@mb_vector_body(") :].partition("\n}")[0]
    assert len(re.findall(r"^edge\.", body, re.MULTILINE)) == 4  # of two branches of three
