"""Two floats that are rounded and joined to a word become one instruction of an NVIDIA GPU."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.module import Module
from metalbench.msl.transforms.packed_conversions import pack_conversions

JOINED = (
    "%h = bitcast TYPE %a to i16",
    "%i = bitcast TYPE %b to i16",
    "%j = zext i16 %i to i32",
    "%k = shl nuw i32 %j, 16",
    "%l = zext i16 %h to i32",
    "%w = or disjoint i32 %k, %l",
)


def packed(*body: str, type_: str = "half") -> str:
    lines = "\n".join(line if line.endswith(":") else f"  {line}" for line in body)
    text = f"define i32 @f(float %x, float %y, ptr %p) {{\n{lines}\n  ret i32 %w\n}}\n"
    module = Module(text.replace("TYPE", type_))
    pack_conversions(module)
    return str(module)


@pytest.mark.parametrize(("type_", "name"), [("half", "f16x2"), ("bfloat", "bf16x2")])
def test_the_high_element_is_the_first_operand(type_, name):
    made = packed(
        "%a = fptrunc float %x to TYPE",
        "%b = fptrunc float %y to TYPE, !dbg !7",
        "%c = fpext TYPE %a to float",
        "store float %c, ptr %p",
        *JOINED,
        type_=type_,
    )
    assert "fptrunc" not in made
    assert (
        f'%b.packed = call i32 asm "cvt.rn.{name}.f32 $0, $1, $2;", "=r,f,f"(float %y, float %x), '
        "!dbg !7"
    ) in made
    assert f"%a = extractelement <2 x {type_}> %b.packed.pair, i32 0" in made
    assert f"%b = extractelement <2 x {type_}> %b.packed.pair, i32 1" in made
    assert "%w = bitcast i32 %b.packed to i32" in made
    # What else uses an element finds it behind the instruction.
    assert made.index("%a = extractelement") < made.index("%c = fpext")


APART = {
    "the first is used before the second": (
        "%a = fptrunc float %x to half",
        "%c = fpext half %a to float",
        "%b = fptrunc float %y to half",
        "store float %c, ptr %p",
        *JOINED,
    ),
    "they are in two blocks": (
        "%a = fptrunc float %x to half",
        "br label %next",
        "next:",
        "%b = fptrunc float %y to half",
        *JOINED,
    ),
    "they are rounded from doubles": (
        "%d = fpext float %x to double",
        "%a = fptrunc double %d to half",
        "%b = fptrunc double %d to half",
        *JOINED,
    ),
    "both halves of the word are one number": (
        "%a = fptrunc float %x to half",
        "%b = bitcast half %a to half",
        *JOINED,
    ),
    "the word has a hole": (
        "%a = fptrunc float %x to half",
        "%b = fptrunc float %y to half",
        *(line.replace("%j, 16", "%j, 17") for line in JOINED),
    ),
}


@pytest.mark.parametrize("body", APART.values(), ids=APART)
def test_other_conversions_stay(body):
    body = tuple(line.replace("TYPE", "half") for line in body)
    made = packed(*body)
    assert "cvt.rn" not in made
    assert made.count("fptrunc") == sum("fptrunc" in line for line in body)


def test_a_conversion_is_packed_once():
    """The low element of one word is the high one of another: only one of them is packed."""
    made = packed(
        "%a = fptrunc float %x to half",
        "%b = fptrunc float %y to half",
        *JOINED,
        "%m = shl nuw i32 %l, 16",
        "%n = or disjoint i32 %m, %j",
        "store i32 %n, ptr %p",
    )
    assert made.count("cvt.rn") == 1
    assert "%n = or disjoint i32 %m, %j" in made
