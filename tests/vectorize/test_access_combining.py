"""Load/store combining of adjacent accesses of a lane."""

from __future__ import annotations

from textwrap import indent

import pytest

from metalbench.msl.analysis.control_flow import flow_of
from metalbench.msl.analysis.private_memory import analyse_private_memory
from metalbench.msl.analysis.uniformity import VARYING, Affine
from metalbench.msl.ir.model import Memory
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.read import read_function
from metalbench.msl.vectorize.access_combining import combine_accesses

HEAD = """
declare i32 @x()
declare i32 @any()
declare void @use(ptr)
define void @f(ptr %p, ptr %out, float %v) {
  %x = call i32 @x()
  %a = call i32 @any()
  %i = zext nneg i32 %x to i64
  %j = zext nneg i32 %a to i64
"""
SOURCES = {"x": lambda call, info: Affine(1), "any": lambda call, info: VARYING}


def accesses(body: str) -> list[str]:
    function = read_function(Module(HEAD + indent(f"{body}ret void", "  ") + "\n}\n").function("f"))
    analysis = analyse_private_memory(function, flow_of(function), 8, SOURCES)
    combined = combine_accesses(function, analysis)
    for block, each in function.instructions:
        if each.result.startswith("%quad"):
            assert combined.uniformity.definitions[each.result] is block
            assert each.result in combined.uniformity.by_name
    found = [each for _, each in function.instructions if isinstance(each, Memory)]
    return [f"{each.opcode} {each.accessed} {each.address.text}" for each in found]


def group(distance: int, count: int, *, index: str = "%i", kind: str = "float") -> str:
    """Return the addresses of adjacent elements of a lane."""
    lines = [
        f"%w = mul nuw i64 {index}, {distance}",
        f"%q0 = getelementptr {kind}, ptr %p, i64 %w",
        *(f"%q{at} = getelementptr {kind}, ptr %q0, i64 {at}" for at in range(1, count)),
    ]
    return "\n".join(lines) + "\n"


def loads(*which: int, kind: str = "float") -> str:
    return "\n".join(f"%v{at} = load {kind}, ptr %q{at}" for at in which) + "\n"


def stores(*which: int) -> str:
    return "\n".join(f"store float %v, ptr %q{at}" for at in which) + "\n"


@pytest.mark.parametrize("kind", ["float", "half", "i8", "i64"])
@pytest.mark.parametrize(("distance", "count"), [(4, 4), (2, 2), (16, 4), (5, 4)])
def test_loads_are_combined(distance, count, kind):
    body = group(distance, count, kind=kind) + loads(*range(count), kind=kind)
    assert accesses(body) == [f"load <{count} x {kind}> %q0"]


@pytest.mark.parametrize(("distance", "count"), [(4, 4), (2, 2), (16, 4)])
def test_stores_are_combined(distance, count):
    body = group(distance, count) + stores(*range(count))
    assert accesses(body) == [f"store <{count} x float> %q0"]


def test_varying_addresses_are_combined():
    assert accesses(group(1, 4, index="%j") + loads(0, 1, 2, 3)) == ["load <4 x float> %q0"]
    assert len(accesses(group(1, 2, index="%j") + loads(0, 1))) == 2


def test_several_groups_of_a_lane():
    assert accesses(group(8, 8) + loads(*range(8))) == [
        "load <4 x float> %q0",
        "load <4 x float> %q4",
    ]


@pytest.mark.parametrize(
    "body",
    [
        group(1, 4) + loads(0, 1, 2, 3),  # which the next lanes have, too
        group(3, 4) + loads(0, 1, 2),
        group(4, 4) + loads(0, 1, 2),
        group(4, 4) + loads(0, 1, 3),
        group(4, 4) + loads(3, 2, 1, 0),
        group(4, 4) + loads(0, 1) + "store float %v, ptr %out\n" + loads(2, 3),
        group(4, 4) + loads(0, 1) + "call void @use(ptr %p)\n" + loads(2, 3),
        group(4, 4) + loads(0, 1) + "fence seq_cst\n" + loads(2, 3),
        group(4, 4) + stores(0, 1) + "%l = load float, ptr %out\n" + stores(2, 3),
        group(4, 4) + stores(0, 1) + "store float %v, ptr %out\n" + stores(2, 3),
        group(4, 4) + stores(0, 1, 0, 2, 3),
        group(4, 4) + loads(0, 1, 2) + "%v3 = load volatile float, ptr %q3\n",
        group(4, 4) + loads(0, 1, 2) + "%v3 = load i32, ptr %q3\n",
    ],
)
def test_other_elements_or_orders_are_not_combined(body):
    assert not [each for each in accesses(body) if "x float" in each]


def test_loads_between_loads_do_not_matter():
    body = group(4, 4) + loads(0, 1) + "%l = load float, ptr %out\n" + loads(2, 3)
    assert accesses(body) == ["load <4 x float> %q0", "load float %out"]
