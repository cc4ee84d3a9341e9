"""Types of LLVM IR: as text, and in memory."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.text import IrError, closing, split
from metalbench.msl.ir.types import (
    ArrayType,
    Float,
    Int,
    Layout,
    Named,
    Pointer,
    Struct,
    Vector,
    take_type,
    type_of,
)

TEXTS = [
    "i1",
    "i64",
    "half",
    "ptr",
    "ptr addrspace(3)",
    "<4 x float>",
    "[2 x [3 x i8]]",
    "{ i32, <2 x half> }",
    "<{ i8, i32 }>",
    "{}",
    "%struct.S",
    '%"struct.mb::vec"',
    "void",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_type_is_written_as_it_was_read(text):
    assert str(type_of(text)) == text


def test_take_type_reads_a_prefix():
    assert take_type("<2 x i8> %x, 3") == (Vector(2, Int(8)), "%x, 3")
    assert take_type("ptr addrspace(1) noundef %p") == (Pointer(1), "noundef %p")
    assert take_type("%struct.S poison") == (Named("%struct.S"), "poison")


@pytest.mark.parametrize("text", ["", "7", "<4 float>", "[2 x", "i32 %x"])
def test_type_of_raises_for_invalid_text(text):
    with pytest.raises(IrError):
        type_of(text)


def test_sizes_and_alignments():
    layout = Layout({"%S": type_of("{ i8, %T, i16 }"), "%T": type_of("[3 x float]")})
    measured = {
        "i1": (1, 1),
        "i24": (4, 4),
        "i128": (16, 16),
        "bfloat": (2, 2),
        "double": (8, 8),
        "ptr": (8, 8),
        "<3 x float>": (16, 16),
        "<8 x i1>": (1, 1),
        "<4 x i8>": (4, 4),
        "[3 x i16]": (6, 2),
        "%S": (20, 4),
        "{ i8, i64 }": (16, 8),
        "<{ i8, i64 }>": (9, 1),
        "[2 x { i32, i8 }]": (16, 4),
    }
    got = {each: (layout.size(type_of(each)), layout.alignment(type_of(each))) for each in measured}
    assert got == measured


def test_members():
    layout = Layout({"%S": Struct((Int(8), Float("float"), Int(64)))})
    assert layout.member(Named("%S"), 1) == (4, Float("float"))
    assert layout.member(Named("%S"), 2) == (8, Int(64))
    assert layout.member(Struct((Int(8), Int(64)), packed=True), 1) == (1, Int(64))
    assert layout.member(ArrayType(9, Int(16)), 4) == (8, Int(16))
    for nothing in (Int(8), Named("%unknown")):
        with pytest.raises(IrError):
            layout.member(nothing, 0)


def test_lists_and_brackets():
    assert split('i32 %a, <2 x i8> <i8 1, i8 2>, ptr @"x, y"') == [
        "i32 %a",
        "<2 x i8> <i8 1, i8 2>",
        'ptr @"x, y"',
    ]
    assert split("") == []
    assert closing("f(a, (b)) c", 1) == 8
    with pytest.raises(IrError):
        closing("f(a", 1)
