"""Calls of library functions that have no best overload in Metal, or none at all."""

from __future__ import annotations

import pytest

from metalbench import _core
from metalbench.errors import CompileError

KERNEL = """
#include <metal_stdlib>
using namespace metal;
enum Choice {{ first = 1, second }};
template <typename T>
T larger(T a, T b) {{ return max(a, b); }}
kernel void f(device float* x, device half* h, device atomic_float* sum, device atomic_ulong* most,
              uint i [[thread_position_in_grid]]) {{
  short s = short(i);
  {}
}}
"""


def compile_statement(statement: str) -> None:
    _core.open("cpu").compile(KERNEL.format(statement)).pipeline("f")


# A recorded message of Metal's compiler for `clamp(float, int, int)`:
# https://github.com/amzeratul/halley/pull/79
@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("max(x[i], 0)", "max"),
        ("max(0, x[i])", "max"),
        ("min(i, 32)", "min"),
        ("min(s, 3)", "min"),
        ("clamp(x[i], 0, 1)", "clamp"),
        ("clamp(x[i], h[i], 1.0f)", "clamp"),
        ("max(h[i], 0.0f)", "max"),
        ("max3(x[i], 1.0f, 2)", "max3"),
        ("sqrt(i)", "sqrt"),
        ("exp(2)", "exp"),
        ("fabs(s)", "fabs"),
        ("pow(2, i)", "pow"),
        ("fma(x[i], h[i], 1)", "fma"),
        ("select(x[i], 0, i > 2)", "select"),
    ],
)
def test_a_call_without_a_best_overload_is_refused(call: str, name: str) -> None:
    with pytest.raises(
        CompileError, match=rf"<source>:10:\d+: error: call to '{name}' is ambiguous"
    ):
        compile_statement(f"x[i] = {call};")


@pytest.mark.parametrize(
    "call",
    [
        "max(x[i], 0.0f)",
        "min(i, 32u)",
        "min(x[i] > 0, 3)",
        "max(first, 3)",
        "clamp(float4(x[i]), 0, 1).x",
        "max(float2(x[i]), h[i]).x",
        "pow(x[i], 2)",
        "fma(x[i], 2, 1)",
        "mix(x[i], 1.0f, i)",
        "sqrt(h[i])",
        "larger(s, s)",
        "larger(x[i], 1.0f)",
        "abs(s)",
        "atan2(x[i], 1)",
        "select(x[i], 0.0f, i > 2)",
        "select(float2(x[i]), h[i], i > 2).x",
        "popcount(i) + clz(s) + ctz(x[i] > 0)",
    ],
)
def test_a_call_with_a_best_overload_is_accepted(call: str) -> None:
    compile_statement(f"x[i] = {call};")


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("x[i] = popcount(x[i]);", "popcount"),
        ("x[i] = cross(float4(x[i]), float4(1)).x;", "cross"),
        (
            "atomic_fetch_max_explicit(sum, 1.0f, memory_order_relaxed);",
            "atomic_fetch_max_explicit",
        ),
        ("atomic_fetch_or_explicit(sum, 1.0f, memory_order_relaxed);", "atomic_fetch_or_explicit"),
        (
            "atomic_fetch_add_explicit(most, 1ul, memory_order_relaxed);",
            "atomic_fetch_add_explicit",
        ),
        ("threadgroup_barrier();", "threadgroup_barrier"),
        ("simdgroup_barrier();", "simdgroup_barrier"),
    ],
)
def test_a_call_without_an_overload_is_refused(statement: str, name: str) -> None:
    with pytest.raises(
        CompileError, match=rf"<source>:10:\d+: error: no matching function .*'{name}'"
    ):
        compile_statement(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "atomic_fetch_add_explicit(sum, 1.0f, memory_order_relaxed);",
        "atomic_fetch_sub_explicit(sum, 1.0f, memory_order_relaxed);",
        "atomic_max_explicit(most, 1ul, memory_order_relaxed);",
        "atomic_min_explicit(most, i, memory_order_relaxed);",
    ],
)
def test_an_atomic_function_of_the_objects_type_is_accepted(statement: str) -> None:
    compile_statement(statement)
