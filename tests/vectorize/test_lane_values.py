"""Representations of values, and their components."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import POINTER, VOID, Float, Int, Layout, type_of
from metalbench.msl.vectorize.ir_builder import IrBuilder
from metalbench.msl.vectorize.lane_values import (
    LaneValue,
    build_aggregate,
    emit_lane_vectors,
    list_components,
    list_offsets,
    splat,
    split_components,
)

LAYOUT = Layout({"%struct.S": type_of("{ i8, [2 x float] }")})
I8, I32, F32 = Int(8), Int(32), Float("float")


@pytest.mark.parametrize(
    ("text", "scalars", "places"),
    [
        ("i32", [I32], [0]),
        ("<2 x float>", [F32, F32], [0, 4]),
        ("{ i8, i32, ptr }", [I8, I32, POINTER], [0, 4, 8]),
        ("%struct.S", [I8, F32, F32], [0, 4, 8]),
        ("[2 x { i8, i32 }]", [I8, I32, I8, I32], [0, 4, 8, 12]),
    ],
)
def test_the_scalars_of_a_type(text, scalars, places):
    assert list_components(type_of(text), LAYOUT) == scalars
    assert list_offsets(type_of(text), LAYOUT) == places


def test_void_is_refused():
    with pytest.raises(IrError, match="a value of type void"):
        list_components(VOID, LAYOUT)


def test_split_and_rebuild():
    code = IrBuilder(8)
    type_ = type_of("{ i8, <2 x float> }")
    parts = split_components(code, type_, "%s", LAYOUT)
    assert len(parts) == 3
    build_aggregate(code, type_, parts, LAYOUT)
    found = [line.split(" = ")[1].split(" ")[0] for line in code.lines]
    assert found == [
        *("extractvalue", "extractvalue", "extractelement", "extractvalue", "extractelement"),
        *("insertvalue", "insertelement", "insertelement", "insertvalue"),
    ]


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("poison", ["poison", "poison"]),
        ("zeroinitializer", ["zeroinitializer", "zeroinitializer"]),
        ("splat (i32 3)", ["3", "3"]),
        ("<i32 1, i32 undef>", ["1", "undef"]),
    ],
)
def test_constants_take_no_code(value, parts):
    code = IrBuilder(8)
    assert split_components(code, type_of("<2 x i32>"), value, LAYOUT) == parts
    assert code.lines == []


def test_splat():
    code = IrBuilder(4)
    assert splat(code, I32, "7") == "splat (i32 7)"
    assert splat(code, POINTER, "null") == "zeroinitializer"
    assert splat(code, F32, "poison") == "poison"
    assert code.lines == []
    splat(code, POINTER, "@table")
    assert [line.split(" = ")[1].split(" ")[0] for line in code.lines] == [
        "insertelement",
        "shufflevector",
    ]


def test_affine_vectors():
    code = IrBuilder(4)
    lanes = LaneValue(Int(8), "%x", 100)
    assert lanes.is_affine
    assert not lanes.is_uniform
    emit_lane_vectors(code, lanes, LAYOUT)
    assert "<i8 0, i8 100, i8 -56, i8 44>" in code.lines[-1]
    count = len(code.lines)
    assert emit_lane_vectors(code, lanes, LAYOUT) == lanes.vectors
    assert len(code.lines) == count


def test_a_checked_value_is_not_uniform():
    assert not LaneValue(I32, "%x", 0, "%holds").is_uniform
    assert LaneValue(I32, "%x").is_uniform
    assert not LaneValue(I32, vectors=("%v",)).is_affine
