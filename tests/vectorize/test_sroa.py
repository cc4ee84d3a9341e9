"""SROA: split variables into the parts that are accessed together."""

from __future__ import annotations

from textwrap import indent

import pytest

from metalbench.msl.analysis.control_flow import flow_of
from metalbench.msl.analysis.private_memory import analyse_private_memory
from metalbench.msl.analysis.uniformity import Affine
from metalbench.msl.ir.model import Alloca
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.read import read_function
from metalbench.msl.vectorize.sroa import split_allocas

HEAD = """
declare i32 @x()
declare void @use(ptr)
declare void @_ZN2mbL11matrix_fillEPf(ptr, float)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @f(ptr %p, i32 %n) {
  %x = call i32 @x()
  %i = zext nneg i32 %x to i64
  %m = zext i32 %n to i64
  %a = alloca [96 x i8], align 32
  %q = getelementptr inbounds nuw i8, ptr %a, i64 4
  %r = getelementptr inbounds nuw i8, ptr %a, i64 32
  %s = getelementptr inbounds nuw i8, ptr %r, i64 32
"""


def list_variables(body: str) -> list[str]:
    """Return the variables after splitting, with their sizes in bytes."""
    function = read_function(
        Module(HEAD + indent(f"{body}\nret void", "  ") + "\n}\n").function("f")
    )
    split_allocas(function)
    variables = [each for _, each in function.instructions if isinstance(each, Alloca)]
    assert all(each.alignment == 32 for each in variables)
    return [f"{each.result}: {function.layout.size(each.allocated)}" for each in variables]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("store i32 1, ptr %a\nstore i32 1, ptr %r", ["%a.0: 4", "%a.1: 4"]),
        ("store i32 1, ptr %q\nstore i32 1, ptr %s", ["%a.0: 8", "%a.1: 4"]),
        ("store i64 1, ptr %a\nstore i32 1, ptr %q\nstore i8 1, ptr %r", ["%a.0: 8", "%a.1: 1"]),
        (
            "store i32 1, ptr %a\n"
            "call void @llvm.memcpy.p0.p0.i64(ptr %r, ptr %p, i64 16, i1 false)",
            ["%a.0: 4", "%a.1: 16"],
        ),
        (
            "call void @llvm.lifetime.start.p0(ptr %a)\n"
            "call void @_ZN2mbL11matrix_fillEPf(ptr dereferenceable(32) %r, float 0.0)\n"
            "store i32 1, ptr %s",
            ["%a.0: 32", "%a.1: 4"],
        ),
        (
            "%o = getelementptr inbounds nuw i32, ptr %r, i64 %m\n"
            "store i32 1, ptr %o\nstore i32 1, ptr %q",
            ["%a.0: 8", "%a.1: 64"],
        ),
    ],
    ids=["two", "separate", "overlapping", "a copy", "a matrix", "all that is behind"],
)
def test_parts_accessed_separately_are_split(body, found):
    assert list_variables(body) == found


@pytest.mark.parametrize(
    "body",
    [
        "store i32 1, ptr %a",
        "store i32 1, ptr %a\nstore i32 2, ptr %a",
        "store i32 1, ptr %q\nstore i32 1, ptr %r\ncall void @use(ptr %a)",
        "store i32 1, ptr %q\nstore ptr %r, ptr %p",
        "store i32 1, ptr %q\nstore i32 1, ptr %r\n"
        "%o = getelementptr i32, ptr %s, i64 %m\nstore i32 1, ptr %o",
        "store i32 1, ptr %q\nstore i32 1, ptr %r\n"
        "call void @llvm.memcpy.p0.p0.i64(ptr %s, ptr %p, i64 %m, i1 false)",
        "store i32 1, ptr %q\ncall void @_ZN2mbL11matrix_fillEPf(ptr %r, float 0.0)",
        "store i32 1, ptr %q\nstore i32 1, ptr %r\n"
        "%o = getelementptr inbounds nuw i32, ptr %a, i64 %m\nstore i32 1, ptr %o",
    ],
    ids=[
        "one part",
        "twice the same",
        "a function's",
        "kept elsewhere",
        "before or behind",
        "of a length that is not known",
        "a matrix of unknown size",
        "all",
    ],
)
def test_parts_that_may_be_accessed_together_stay(body):
    assert list_variables(body) == ["%a: 96"]


def test_only_varying_parts_are_per_lane():
    body = """
  store i32 %x, ptr %q
  call void @_ZN2mbL11matrix_fillEPf(ptr dereferenceable(32) %r, float 0.0)
  ret void"""
    function = read_function(Module(f"{HEAD}{body}\n}}\n").function("f"))
    split_allocas(function)
    sources = {"x": lambda call, info: Affine(1)}
    found = analyse_private_memory(function, flow_of(function), 8, sources)
    assert set(found.layout.strides) == {"%a.0"}
