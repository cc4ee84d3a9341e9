"""Alignments that accesses promise, and those that a kernel's code proves."""

from __future__ import annotations

import re

import pytest

from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.transforms.alignment import lower_alignment, raise_alignment


def lower(text: str) -> str:
    module = Module(text)
    lower_alignment(module)
    return str(module)


def prove(text: str) -> str:
    module = Module(text)
    raise_alignment(module, 16)
    return str(module)


def test_atomics_keep_their_alignment():
    ir = "define void @f(ptr %p) {\n  %a = load atomic i64, ptr %p monotonic, align 8\n}"
    assert lower(ir) == ir
    assert prove(ir) == ir


FACTS = {
    "select-of-conditions": (
        "  %a = and i64 %n, 3\n  %c = icmp eq i64 %a, 0\n  %d = icmp ult i64 %n, 9\n"
        "  %e = select i1 %c, i1 %d, i1 false\n"
        "  br i1 %e, label %yes, label %no\n",
        16,
    ),
    "not": (
        "  %a = and i64 %n, 3\n  %c = icmp ne i64 %a, 0\n  %e = xor i1 %c, true\n"
        "  br i1 %e, label %yes, label %no\n",
        16,
    ),
    "remainder": (
        "  %a = urem i64 %n, 12\n  %e = icmp eq i64 %a, 0\n  br i1 %e, label %yes, label %no\n",
        16,
    ),
    "joined-comparisons": (
        "  %a = and i64 %n, 3\n  %h = lshr i64 %n, 40\n  %b = and i64 %h, 15\n"
        "  %c = or i64 %b, %a\n  %e = icmp eq i64 %c, 0\n  br i1 %e, label %yes, label %no\n",
        16,
    ),
    "both-bits": (
        "  %a = and i64 %n, 3\n  %h = lshr i64 %n, 40\n  %b = and i64 %h, %a\n"
        "  %e = icmp eq i64 %b, 0\n  br i1 %e, label %yes, label %no\n",
        4,
    ),
    "odd": (
        "  %e = trunc i64 %n to i1\n  br i1 %e, label %no, label %yes\n",
        8,
    ),
    "other-side": (
        "  %a = and i64 %n, 3\n  %e = icmp eq i64 %a, 0\n  br i1 %e, label %no, label %yes\n",
        4,
    ),
    "either": (
        "  %a = and i64 %n, 3\n  %c = icmp eq i64 %a, 0\n  %d = icmp ult i64 %n, 9\n"
        "  %e = or i1 %c, %d\n  br i1 %e, label %yes, label %no\n",
        4,
    ),
    "phi": (
        "  %a = and i64 %n, 3\n  %c = icmp eq i64 %a, 0\n  br i1 %c, label %more, label %join\n"
        "more:\n  %d = icmp ult i64 %n, 9\n  br label %join\n"
        "join:\n  %e = phi i1 [ %d, %more ], [ false, %start ]\n"
        "  br i1 %e, label %yes, label %no\n",
        16,
    ),
    "phi-of-others": (
        "  %a = and i64 %n, 3\n  %c = icmp eq i64 %a, 0\n  br i1 %c, label %more, label %join\n"
        "more:\n  %d = icmp ult i64 %n, 9\n  br label %join\n"
        "join:\n  %e = phi i1 [ %d, %more ], [ true, %start ]\n"
        "  br i1 %e, label %yes, label %no\n",
        4,
    ),
    "met-again": (
        "  %a = and i64 %n, 3\n  %c = icmp eq i64 %a, 0\n  br i1 %c, label %more, label %yes\n"
        "more:\n  br label %yes\n",
        4,
    ),
}


@pytest.mark.parametrize("case", FACTS)
def test_proven_alignment_follows_branches(case):
    before, expected = FACTS[case]
    ir = (
        "@s = addrspace(3) global [64 x float] undef, align 16\n"
        "define void @f(i64 %n) {\nstart:\n" + before + "yes:\n"
        "  %p = getelementptr inbounds float, ptr addrspace(3) @s, i64 %n\n"
        "  %v = load float, ptr addrspace(3) %p, align 4\n  ret void\n"
        "no:\n  ret void\n}"
    )
    found = re.search(r"%v = load .* align (\d+)", prove(ir))
    assert found is not None
    assert int(found[1]) == expected


def test_proven_alignment_counts_bits_dropped_by_a_shift():
    ir = (
        "@s = addrspace(3) global [64 x float] undef, align 16\n"
        "define void @f(i64 %n) {\nstart:\n  %a = shl i64 %n, 40\n  %b = lshr i64 %a, 40\n"
        "  %p = getelementptr inbounds float, ptr addrspace(3) @s, i64 %b\n"
        "  %v = load float, ptr addrspace(3) %p, align 4\n  ret void\n}"
    )
    assert prove(ir) == ir


def test_proven_alignment_is_fast_for_conditions_of_a_loop():
    # Each of these depends on all others: without a memory of what they say, 2^60 steps.
    count = 60
    names = [f"%c{number}" for number in range(count)]
    phis = "".join(
        f"  {name} = phi i1 [ false, %start ], [ %d{name[2:]}, %loop ]\n" for name in names
    )
    made = "".join(
        f"  %d{number} = and i1 %c{(number + 1) % count}, %c{(number + 7) % count}\n"
        for number in range(count)
    )
    ir = (
        "@s = addrspace(3) global [64 x float] undef, align 16\n"
        f"define void @f(i64 %n) {{\nstart:\n  br label %loop\nloop:\n{phis}{made}"
        "  br i1 %d0, label %loop, label %end\nend:\n"
        "  %p = getelementptr inbounds float, ptr addrspace(3) @s, i64 %n\n"
        "  %v = load float, ptr addrspace(3) %p, align 4\n  ret void\n}"
    )
    assert prove(ir) == ir


def test_proven_alignment_forgets_values_of_earlier_iterations():
    ir = (
        "@s = addrspace(3) global [64 x float] undef, align 16\n"
        "define void @f(ptr %q) {\nstart:\n  br label %loop\n"
        "loop:\n  %n = load i64, ptr %q, align 8\n"
        "  %p = getelementptr inbounds float, ptr addrspace(3) @s, i64 %n\n"
        "  %v = load float, ptr addrspace(3) %p, align 4\n"
        "  %a = and i64 %n, 3\n  %c = icmp eq i64 %a, 0\n"
        "  br i1 %c, label %loop, label %end\n"
        "end:\n  ret void\n}"
    )
    assert "ptr addrspace(3) %p, align 4\n" in prove(ir)


def test_lower_alignment_promises_elements_and_no_references():
    ir = """\
%S = type { <4 x float>, i16 }
define void @f(ptr align 16 dereferenceable(16) %p) {
  %s = alloca %S, align 16
  %v = load <4 x float>, ptr %p, align 16
  store %S zeroinitializer, ptr %s, align 16
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %s, ptr align 8 %p, i64 32, i1 false)
  ret void
}
"""
    found = lower(ir)
    assert "@f(ptr dereferenceable(16) %p)" in found
    assert "%s = alloca %S, align 16" in found
    assert "load <4 x float>, ptr %p, align 4\n" in found
    assert "store %S zeroinitializer, ptr %s, align 2\n" in found
    assert "(ptr align 2 %s, ptr align 2 %p, i64 32" in found


@pytest.mark.parametrize("change", [lower, prove])
def test_an_access_without_alignment_is_an_error(change):
    ir = "@s = global float 0.0, align 16\ndefine void @f(ptr align 4 %p) {\n  ret void\n}"
    with pytest.raises(IrError, match="no alignment"):
        change(ir.replace("  ret", "  store float 0.0, ptr @s\n  ret"))
