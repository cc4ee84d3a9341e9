"""Combining two adjacent vector halves into one access."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.model import Memory
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.read import read_function
from metalbench.msl.vectorize.access_combining import combine_vector_halves

LOADS = """
  %a = load <2 x float>, ptr %p, align 16
  %q = getelementptr i8, ptr %p, i64 8
  MIDDLE
  %b = load <2 x float>, ptr %q, align 8"""
STORES = """
  store <2 x float> %v, ptr %p, align 16
  %q = getelementptr i8, ptr %p, i64 8
  MIDDLE
  store <2 x float> %w, ptr %q, align 8"""


def accesses(body: str) -> list[str]:
    text = f"define void @f(ptr %p, <2 x float> %v, <2 x float> %w) {{{body}\n  ret void\n}}\n"
    function = read_function(Module(text).function("f"))
    combine_vector_halves(function)
    found = [each for _, each in function.instructions if isinstance(each, Memory)]
    return [f"{each.opcode} {each.accessed} {each.address.text}" for each in found]


@pytest.mark.parametrize(
    ("body", "opcode"), [(LOADS, "load"), (STORES, "store")], ids=["load", "store"]
)
def test_adjacent_halves_are_combined(body, opcode):
    assert accesses(body.replace("MIDDLE", "")) == [f"{opcode} <4 x float> %p"]
    assert accesses(body.replace("MIDDLE", "%x = fadd float 1.0, 2.0")) == [
        f"{opcode} <4 x float> %p"
    ]


@pytest.mark.parametrize("body", [LOADS, STORES], ids=["load", "store"])
@pytest.mark.parametrize(
    "middle",
    [
        "store float 1.0, ptr %p, align 4",
        "%x = load float, ptr %q, align 4",
        "call void @other()",
        "fence seq_cst",
        "%x = atomicrmw add ptr %p, i32 1 monotonic, align 4",
    ],
)
def test_an_access_between_halves_prevents_combining(body, middle):
    assert "<4 x float>" not in " ".join(accesses(body.replace("MIDDLE", middle)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i64 8", "i64 16"),
        ("i64 8", "i64 %n"),
        ("<2 x float>, ptr %q", "<2 x i32>, ptr %q"),
        ("load <2 x float>, ptr %q", "load volatile <2 x float>, ptr %q"),
        ("ptr %p, i64", "ptr %z, i64"),
    ],
)
def test_halves_of_different_vectors_are_not_combined(old, new):
    body = LOADS.replace("MIDDLE", "").replace(old, new)
    assert "load <4 x float> %p" not in accesses(body)
