"""Markers: their names and transfer functions."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from vectorize.launches import Form, call, emit_text, module, verify_and_link

from metalbench.msl.analysis.uniformity import UNIFORM, VARYING, Affine, Constant
from metalbench.msl.ir.read_instruction import read_instruction
from metalbench.msl.ir.text import IrError
from metalbench.msl.vectorize.module import vectorize_module
from metalbench.msl.vectorize.simd_functions import (
    is_position,
    make_transfer_functions,
    parse_simd_function,
)

OUT = np.zeros(32, "u4")


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("mb_vector_sum_f32", ("sum", "f32")),
        ("mb_vector_exclusive_product_bf16", ("exclusive_product", "bf16")),
        ("mb_vector_shuffle_b1", ("shuffle", "b1")),
        ("mb_vector_sum_f64", None),
        ("mb_vector_median_f32", None),
        ("mb_vector_lane", None),
    ],
)
def test_simd_functions(name, function):
    assert parse_simd_function(name) == function


def test_positions():
    assert is_position("mb_vector_lane")
    assert is_position("mb_vector_arena")
    assert not is_position("mb_vector_ballot")
    assert not is_position("mb_vector_sum_u32")


def get_uniformity(name: str, *shapes: object, rows: bool = True) -> object:
    call = read_instruction(f"%r = call i32 @{name}(i32 %x, i32 %y)")
    names = ["mb_vector_sum_f32", "mb_vector_shuffle_u32", "mb_vector_inclusive_sum_u32"]
    return make_transfer_functions(8, rows=rows, names=names, serialized=["count"])[name](
        call, shapes
    )


def test_uniformity_of_positions():
    assert get_uniformity("mb_vector_lane") == Constant(tuple(range(8)))
    assert get_uniformity("mb_vector_index") == Affine(1)
    assert get_uniformity("mb_vector_simdgroup") is UNIFORM
    for name, in_rows in (("x", Affine(1)), ("y", UNIFORM), ("z", UNIFORM)):
        assert get_uniformity(f"mb_vector_{name}") == in_rows
        assert get_uniformity(f"mb_vector_{name}", rows=False) is VARYING


def test_uniformity_of_simd_functions():
    assert get_uniformity("mb_vector_sum_f32", VARYING) is UNIFORM
    assert get_uniformity("mb_vector_inclusive_sum_u32", UNIFORM) is VARYING
    assert get_uniformity("mb_vector_shuffle_u32", VARYING, UNIFORM) is UNIFORM
    assert get_uniformity("mb_vector_shuffle_u32", UNIFORM, VARYING) is VARYING


def test_results_of_serialized_functions_vary():
    assert get_uniformity("count", UNIFORM, UNIFORM) is VARYING


@pytest.mark.parametrize("form", [Form(16), Form(8)])
def test_other_widths_are_refused(form):
    with pytest.raises(IrError, match="mb_vector_sum_u32: a SIMD-group has 32 lanes"):
        emit_text(
            "%s = call i32 @mb_vector_sum_u32(i32 %n)\nstore i32 %s, ptr %out",
            form,
            out=OUT,
            n=1,
        )


def test_unknown_markers_are_refused():
    more = "declare i32 @mb_vector_median_u32(i32)"
    body = "%s = call i32 @mb_vector_median_u32(i32 %lane)\nstore i32 %s, ptr %out"
    with pytest.raises(IrError, match="unknown marker mb_vector_median_u32"):
        emit_text(body, more=more, out=OUT)


@pytest.mark.parametrize("form", [Form(), Form(16), Form(rows=False)])
def test_barriers_meet_once_for_all_lanes(tmp_path, form):
    body = "call void @mb_vector_barrier()\ncall void @mb_vector_barrier()"
    verify_and_link(vectorize_module(module(body, "", {}), form.launch), tmp_path / "body.so")
    library = call(tmp_path / "body.so", form, [], [])
    library.mb_info.restype = ctypes.c_void_p
    assert ctypes.c_int.from_address(library.mb_info()).value == 2
