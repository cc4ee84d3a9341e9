"""The names that stand for what only all lanes together can do, and what comes out of them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from emission.launches import Form, call, emitted, module, verified

from metalbench.msl.emission.markers import group_function, is_place, sources
from metalbench.msl.emission.vectorise import vectorise
from metalbench.msl.ir.read_instruction import read_instruction
from metalbench.msl.ir.text import IrError
from metalbench.msl.vector.shapes import UNIFORM, VARYING, Affine, Constant

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
def test_group_functions(name, function):
    assert group_function(name) == function


def test_places():
    assert is_place("mb_vector_lane")
    assert is_place("mb_vector_arena")
    assert not is_place("mb_vector_ballot")
    assert not is_place("mb_vector_sum_u32")


def shape(name: str, *shapes: object, rows: bool = True) -> object:
    call = read_instruction(f"%r = call i32 @{name}(i32 %x, i32 %y)")
    names = ["mb_vector_sum_f32", "mb_vector_shuffle_u32", "mb_vector_inclusive_sum_u32"]
    return sources(8, rows=rows, names=names, apart=["count"])[name](call, shapes)


def test_shapes_of_places():
    assert shape("mb_vector_lane") == Constant(tuple(range(8)))
    assert shape("mb_vector_index") == Affine(1)
    assert shape("mb_vector_simdgroup") is UNIFORM
    for name, in_rows in (("x", Affine(1)), ("y", UNIFORM), ("z", UNIFORM)):
        assert shape(f"mb_vector_{name}") == in_rows
        assert shape(f"mb_vector_{name}", rows=False) is VARYING


def test_shapes_of_group_functions():
    assert shape("mb_vector_sum_f32", VARYING) is UNIFORM
    assert shape("mb_vector_inclusive_sum_u32", UNIFORM) is VARYING
    assert shape("mb_vector_shuffle_u32", VARYING, UNIFORM) is UNIFORM
    assert shape("mb_vector_shuffle_u32", UNIFORM, VARYING) is VARYING


def test_functions_that_do_something_for_each_lane_vary():
    assert shape("count", UNIFORM, UNIFORM) is VARYING


@pytest.mark.parametrize("form", [Form(16), Form(8)])
def test_other_widths_are_refused(form):
    with pytest.raises(IrError, match="mb_vector_sum_u32: a SIMD-group has 32 lanes"):
        emitted(
            "%s = call i32 @mb_vector_sum_u32(i32 %n)\nstore i32 %s, ptr %out",
            form,
            out=OUT,
            n=1,
        )


def test_what_has_no_meaning_is_refused():
    more = "declare i32 @mb_vector_median_u32(i32)"
    body = "%s = call i32 @mb_vector_median_u32(i32 %lane)\nstore i32 %s, ptr %out"
    with pytest.raises(IrError, match="mb_vector_median_u32 is not known"):
        emitted(body, more=more, out=OUT)


@pytest.mark.parametrize("form", [Form(), Form(16), Form(rows=False)])
def test_barriers_meet_once_for_all_lanes(tmp_path, form):
    body = "call void @mb_vector_barrier()\ncall void @mb_vector_barrier()"
    verified(vectorise(module(body, "", {}), form.launch), tmp_path / "body.so")
    library = call(tmp_path / "body.so", form, [], [])
    library.mb_info.restype = ctypes.c_void_p
    assert ctypes.c_int.from_address(library.mb_info()).value == 2
