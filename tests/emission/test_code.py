"""The text of a function as it grows."""

from __future__ import annotations

import pytest

from metalbench.msl.emission.code import Code, literal, numbers, places, suffix
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, POINTER, VOID, Float, Int


def test_lines_with_their_place_in_the_source():
    code = Code(8, "!7")
    assert code.value("add i32 1, 2") == "%v.1"
    code.jump("end")
    assert code.lines == ["  %v.1 = add i32 1, 2, !dbg !7", "  br label %end, !dbg !7"]


def test_names_are_never_given_twice():
    code = Code(8)
    given = [code.fresh(), code.value("x"), code.variable("i8"), code.fresh("way")]
    assert len(set(given)) == 4


def test_variables_are_there_from_the_start():
    code = Code(8)
    name = code.variable("<8 x i1>", zero=True)
    aligned = code.variable("i64", 16)
    assert code.lines == []
    assert code.entry == [
        f"  {name} = alloca <8 x i1>",
        f"  store <8 x i1> zeroinitializer, ptr {name}",
        f"  {aligned} = alloca i64, align 16",
    ]


def test_a_function_is_declared_when_it_is_called():
    code = Code(8)
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
    assert literal(type_, value) == text


def test_other_constants_are_refused():
    with pytest.raises(IrError, match="float 1"):
        literal(Float("float"), 1)


def test_vectors_and_shuffles():
    assert numbers(Int(8), [1, -2]) == "<i8 1, i8 -2>"
    assert places([1, -1]) == "<2 x i32> <i32 1, i32 poison>"
    code = Code(8)
    assert (code.lanes("i16"), code.mask, code.bits) == ("<8 x i16>", "<8 x i1>", "i8")


def test_names_of_types_in_names_of_functions():
    assert [suffix(each) for each in (Int(16), Float("bfloat"), Float("double"), POINTER)] == [
        "i16",
        "bf16",
        "f64",
        "p0",
    ]
    with pytest.raises(IrError, match="no intrinsic takes void"):
        suffix(VOID)
