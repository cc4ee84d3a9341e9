"""Test errors that clang reports as warnings of a group, which other options turn off."""

from __future__ import annotations

import pytest

from metalbench._core import CompileError
from metalbench.msl import engine

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, uint i [[thread_position_in_grid]]) {
  BODY
}
"""


def build(body: str) -> None:
    engine.build(engine.parse(SOURCE.replace("BODY", body), "k.metal", {}), "f")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("int2 q = {i, 1}; x[i] = q.x;", "cannot be narrowed from type 'uint' to 'int'"),
        ("half2 h = {x[i], 1}; x[i] = h.x;", "cannot be narrowed from type 'float' to 'half'"),
        ("int a[2] = {1.5f, 2}; x[i] = a[0];", "type 'float' cannot be narrowed to 'int'"),
        ("uint u{-1}; x[i] = u;", "-1 which cannot be narrowed to type 'uint'"),
        ("return 1;", "void function 'f' should not return a value"),
        ("thread float* q = &float(1.0f); x[i] = *q;", "cannot take the address of an rvalue"),
    ],
)
def test_sources_are_refused_as_by_clang(body: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        build(body)


def test_constants_that_fit_are_not_narrowed() -> None:
    build("float3 v = {x[i], 1, 0.5}; half2 h = {0.1, 1}; ushort2 t = {1, 2}; x[i] = v.x + h.x;")
