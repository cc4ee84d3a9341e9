"""Which private variables lanes share, and how those that they do not lie in memory."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.flow import flow_of
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.text import IrError
from metalbench.msl.vector.private import Analysed, analyse_with_memory
from metalbench.msl.vector.shapes import UNIFORM, Linear

HEAD = """
declare i32 @x()
declare void @use(ptr)
declare void @use2(ptr, i32)
declare void @llvm.lifetime.start.p0(ptr)
define void @f(ptr %p, i32 %n) {
  %x = call i32 @x()
  %i = zext nneg i32 %x to i64
  %a = alloca [4 x float], align 4
  %at = getelementptr float, ptr %a, i64 2
"""


def memory_of(body: str) -> Analysed:
    function = read_function(f"{HEAD}{body}\n}}\n", "f")
    sources = {"x": lambda call, shapes: Linear(1)}
    return analyse_with_memory(function, flow_of(function), 8, sources)


@pytest.mark.parametrize(
    ("line", "stride"),
    [
        ("store float 1.0, ptr %at, align 4", 0),
        ("store i32 %n, ptr %at, align 4", 0),
        ("call void @use(ptr %a)", 0),
        ("call void @llvm.lifetime.start.p0(ptr %a)", 0),
        ("%v = load float, ptr %at, align 4", 0),
        ("store i32 %x, ptr %at, align 4", 4),
        ("store i64 %i, ptr %at, align 4", 8),
        ("call void @use2(ptr %a, i32 %x)", 16),
        ("store ptr %a, ptr %p, align 8", 16),
        ("store <2 x i32> splat (i32 3), ptr %at, align 4", 0),
    ],
)
def test_a_variable_is_one_for_all_lanes_unless_they_may_write_differently(line, stride):
    found = memory_of(f"  {line}\n  ret void")
    assert found.layout.strides.get("%a", 0) == stride
    assert found.shapes.shapes["%at"] == (Linear(stride) if stride else UNIFORM)
    assert found.variables == {"%a": "%a", "%at": "%a"}


def test_what_holds_the_address_of_a_variable_is_each_ones_own_like_it():
    body = """  %slot = alloca ptr, align 8
  store ptr %a, ptr %slot, align 8
  ret void"""
    assert memory_of(body).layout.strides == {"%a": 16, "%slot": 8}


def test_elements_of_one_size_are_interleaved():
    one = memory_of(
        "  store i32 %x, ptr %at, align 4\n  %v = load float, ptr %a, align 4\n  ret void"
    )
    assert one.layout.interleaved == {"%a", "%at"}
    two = memory_of("  store i32 %x, ptr %at, align 4\n  %v = load i8, ptr %a, align 1\n  ret void")
    assert not two.layout.interleaved
    assert two.layout.strides == {"%a": 16}


def test_what_only_some_lanes_write_is_each_ones_own():
    body = """
  %c = icmp ult i32 %x, %n
  br i1 %c, label %then, label %end
then:
  store i32 %n, ptr %a, align 4
  br label %end
end:
  ret void"""
    assert memory_of(body).layout.strides == {"%a": 4}


def test_where_a_variable_is_may_depend_on_another_ones_value():
    body = """  %b = alloca i32, align 4
  store i32 %x, ptr %b, align 4
  %v = load i32, ptr %b, align 4
  store i32 %v, ptr %at, align 4
  ret void"""
    assert memory_of(body).layout.strides == {"%a": 4, "%b": 4}


def test_a_place_that_lanes_choose_is_in_each_ones_own():
    body = """  %q = getelementptr float, ptr %a, i64 %i
  store i32 %n, ptr %q, align 4
  ret void"""
    assert memory_of(body).layout.strides == {"%a": 4}


def test_a_variable_without_a_size_is_refused():
    with pytest.raises(IrError, match=r"%b has no size"):
        memory_of("  %b = alloca i8, i64 %i, align 1\n  ret void")


COPY = "call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %a, i64 16, i1 false)"
COPIED = "  %b = alloca [4 x float], align 4\n"


def test_a_copy_of_what_is_each_lanes_own_is_each_lanes_own():
    body = f"{COPIED}  store i32 %x, ptr %at, align 4\n  {COPY}\n  ret void"
    assert set(memory_of(body).layout.strides) == {"%a", "%b"}


def test_what_is_only_copied_from_stays_one():
    """By lanes that have parted, who may write to what they copy to each by itself."""
    body = f"""{COPIED}  %part = icmp ult i32 %x, %n
  br i1 %part, label %yes, label %no
yes:
  {COPY}
  br label %no
no:
  ret void"""
    assert set(memory_of(body).layout.strides) == {"%b"}


@pytest.mark.parametrize(
    ("function", "own"),
    [("multiply", {"%b"}), ("load", {"%b"}), ("store", {"%a"}), ("other", {"%a", "%b"})],
)
def test_functions_of_matrices_write_to_one_of_them(function, own):
    name = f"_ZN2mbL12matrix_{function}" if function != "other" else "other"
    body = f"""{COPIED}  call void @{name}(ptr %b, ptr %a, i32 %x)
  ret void"""
    assert set(memory_of(body).layout.strides) == own
