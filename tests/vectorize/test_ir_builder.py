"""The builder of a function's text."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, Float, Int
from metalbench.msl.vectorize.ir_builder import (
    IrBuilder,
    format_integer,
    format_shuffle_mask,
    format_vector,
)


def test_lines_have_debug_locations():
    code = IrBuilder(8, "!7")
    assert code.emit("add i32 1, 2") == "%v.1"
    code.branch("end")
    assert code.lines == ["  %v.1 = add i32 1, 2, !dbg !7", "  br label %end, !dbg !7"]


def test_names_are_unique():
    code = IrBuilder(8)
    given = [code.make_name(), code.emit("x"), code.alloca("i8"), code.make_name("way")]
    assert len(set(given)) == 4


def test_allocas_are_in_the_entry_block():
    code = IrBuilder(8)
    name = code.alloca("<8 x i1>", zero=True)
    aligned = code.alloca("i64", 16)
    assert code.lines == []
    assert code.entry == [
        f"  {name} = alloca <8 x i1>",
        f"  store <8 x i1> zeroinitializer, ptr {name}",
        f"  {aligned} = alloca i64, align 16",
    ]


def test_a_function_is_declared_when_it_is_called():
    code = IrBuilder(8)
    assert code.call("f", "i32", [("i8", "%x"), ("ptr", "%p")]) == "%v.1"
    assert code.call("g", "void", []) == ""
    assert code.declarations == {"f": "declare i32 @f(i8, ptr)", "g": "declare void @g()"}
    assert code.lines == ["  %v.1 = call i32 @f(i8 %x, ptr %p)", "  call void @g()"]


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (Int(8), 255, "-1"),
        (Int(8), -128, "-128"),
        (Int(8), 127, "127"),
        (Int(32), 1 << 32, "0"),
        (BOOL, 1, "true"),
        (BOOL, 2, "false"),
    ],
)
def test_integral_constants(type_, value, text):
    assert format_integer(type_, value) == text


def test_other_constants_are_refused():
    with pytest.raises(IrError, match="1 is not a constant of type float"):
        format_integer(Float("float"), 1)


def test_vectors_and_shuffles():
    assert format_vector(Int(8), [1, -2]) == "<i8 1, i8 -2>"
    assert format_shuffle_mask([1, -1]) == "<2 x i32> <i32 1, i32 poison>"
    code = IrBuilder(8)
    assert (code.vector_type("i16"), code.mask_type, code.bits_type) == (
        "<8 x i16>",
        "<8 x i1>",
        "i8",
    )
