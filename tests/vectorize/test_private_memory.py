"""Private variables that need one copy per lane, and the layout of the copies."""

from __future__ import annotations

import pytest

from metalbench.msl.analysis.control_flow import flow_of
from metalbench.msl.analysis.private_memory import FunctionAnalysis, analyse_private_memory
from metalbench.msl.analysis.uniformity import UNIFORM, Affine
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.text import IrError

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


def analyse_body(body: str) -> FunctionAnalysis:
    function = read_function(Module(f"{HEAD}{body}\n}}\n").function("f"))
    sources = {"x": lambda call, info: Affine(1)}
    return analyse_private_memory(function, flow_of(function), 8, sources)


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
def test_a_variable_is_shared_unless_lanes_may_write_differently(line, stride):
    found = analyse_body(f"  {line}\n  ret void")
    assert found.layout.strides.get("%a", 0) == stride
    assert found.uniformity.by_name["%at"] == (Affine(stride) if stride else UNIFORM)
    assert found.variables == {"%a": "%a", "%at": "%a"}


def test_a_variable_with_the_address_of_a_per_lane_variable_is_per_lane():
    body = """  %slot = alloca ptr, align 8
  store ptr %a, ptr %slot, align 8
  ret void"""
    assert analyse_body(body).layout.strides == {"%a": 16, "%slot": 8}


def test_elements_of_one_size_are_interleaved():
    one = analyse_body(
        "  store i32 %x, ptr %at, align 4\n  %v = load float, ptr %a, align 4\n  ret void"
    )
    assert one.layout.interleaved == {"%a", "%at"}
    two = analyse_body(
        "  store i32 %x, ptr %at, align 4\n  %v = load i8, ptr %a, align 1\n  ret void"
    )
    assert not two.layout.interleaved
    assert two.layout.strides == {"%a": 16}


def test_variables_written_in_masked_blocks_are_per_lane():
    body = """
  %c = icmp ult i32 %x, %n
  br i1 %c, label %then, label %end
then:
  store i32 %n, ptr %a, align 4
  br label %end
end:
  ret void"""
    assert analyse_body(body).layout.strides == {"%a": 4}


def test_per_lane_variables_may_depend_on_each_other():
    body = """  %b = alloca i32, align 4
  store i32 %x, ptr %b, align 4
  %v = load i32, ptr %b, align 4
  store i32 %v, ptr %at, align 4
  ret void"""
    assert analyse_body(body).layout.strides == {"%a": 4, "%b": 4}


def test_variables_written_at_varying_offsets_are_per_lane():
    body = """  %q = getelementptr float, ptr %a, i64 %i
  store i32 %n, ptr %q, align 4
  ret void"""
    assert analyse_body(body).layout.strides == {"%a": 4}


def test_a_variable_without_a_constant_size_is_refused():
    with pytest.raises(IrError, match=r"%b has no constant size"):
        analyse_body("  %b = alloca i8, i64 %i, align 1\n  ret void")


COPY = "call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %a, i64 16, i1 false)"
COPIED = "  %b = alloca [4 x float], align 4\n"


def test_copies_of_per_lane_variables_are_per_lane():
    body = f"{COPIED}  store i32 %x, ptr %at, align 4\n  {COPY}\n  ret void"
    assert set(analyse_body(body).layout.strides) == {"%a", "%b"}


def test_a_source_of_copies_stays_shared():
    """Even of copies in masked blocks, whose destinations are per lane."""
    body = f"""{COPIED}  %part = icmp ult i32 %x, %n
  br i1 %part, label %yes, label %no
yes:
  {COPY}
  br label %no
no:
  ret void"""
    assert set(analyse_body(body).layout.strides) == {"%b"}


@pytest.mark.parametrize(
    ("function", "own"),
    [("multiply", {"%b"}), ("load", {"%b"}), ("store", {"%a"}), ("other", {"%a", "%b"})],
)
def test_matrix_functions_write_one_operand(function, own):
    name = f"_ZN2mbL12matrix_{function}" if function != "other" else "other"
    body = f"""{COPIED}  call void @{name}(ptr %b, ptr %a, i32 %x)
  ret void"""
    assert set(analyse_body(body).layout.strides) == own
