"""Names of intrinsics, with the types that they end with."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.intrinsics import Intrinsic, overload_suffix, parse_intrinsic
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import POINTER, VOID, Float, Int, Pointer, Vector

I32, F32 = Int(32), Float("float")


@pytest.mark.parametrize(
    ("name", "stem", "overloads"),
    [
        ("llvm.fptosi.sat.i32.f32", "fptosi.sat", (I32, F32)),
        ("llvm.vector.reduce.add.v4i32", "vector.reduce.add", (Vector(4, I32),)),
        ("llvm.fma.v2bf16", "fma", (Vector(2, Float("bfloat")),)),
        ("llvm.memset.p3.i64", "memset", (Pointer(3), Int(64))),
        ("llvm.nvvm.mma.m16n8k8.row", "nvvm.mma.m16n8k8.row", ()),
        ("llvm.donothing", "donothing", ()),
    ],
)
def test_parse_intrinsic_takes_types_from_the_end(name, stem, overloads):
    assert parse_intrinsic(name) == Intrinsic(stem, overloads)
    assert parse_intrinsic(name).name == name


def test_parse_intrinsic_refuses_other_functions():
    with pytest.raises(IrError, match=r"f\.i32 is not an intrinsic"):
        parse_intrinsic("f.i32")


def test_overload_suffix_writes_types():
    types = (Int(16), Float("bfloat"), Float("double"), POINTER)
    assert [*map(overload_suffix, types)] == ["i16", "bf16", "f64", "p0"]
    with pytest.raises(IrError, match="no intrinsic takes void"):
        overload_suffix(VOID)
