"""Test that conversions between address spaces are refused, and nothing else."""

from __future__ import annotations

import pytest

from metalbench._core import CompileError
from metalbench.msl import engine

HEADER = """#include <metal_stdlib>
using namespace metal;
void pointer(thread float* a) { a[0] = 1; }
void reference(thread float& a) { a = 1; }
void const_reference(const thread float& a) {}
void const_device(const device float& a) {}
void both(thread float* a) { a[0] = 1; }
void both(device float* a) { a[0] = 1; }
void with_default(device float* a, uint n = 1) { a[0] = n; }
template <typename P> void any(P a) { a[0] = 1; }
template <typename T> void element(threadgroup T* a, T value) { a[0] = value; }
template <typename T> void generic(threadgroup T& a, T value) { T b = value; a = b; }
device float* nearest(device float* a, threadgroup float* b) { return RESULT; }
using Shared = threadgroup float;
struct Range { device float* data; uint last; };
kernel void f(device float* x, device const float* p, constant float* c, constant uint& n,
              threadgroup float* t, uint i [[thread_position_in_grid]]) {
"""


def parse(body: str, result: str = "a") -> None:
    text = HEADER.replace("RESULT", result) + body + "\n}\n"
    engine.parse(text, "k.metal", {})


TO_DEVICE = "cannot initialize a variable of type 'device float *' with an"
TO_THREAD = "cannot initialize a variable of type 'thread float *' with an"
NO_MATCH = "no matching function for call to"
CHANGES = "binding reference of type 'thread float' to value of type 'device float' changes"
TEMPORARY = "reference of type 'const device float &' cannot bind to a temporary object because"
C_STYLE = "C-style cast from"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("thread float* q = x;", f"{TO_THREAD} lvalue of type 'device float *'"),
        ("thread float* q = &x[0];", f"{TO_THREAD} rvalue of type 'device float *'"),
        ("threadgroup float a[4]; thread float* q = a;", f"{TO_THREAD} lvalue"),
        ("threadgroup float a[4]; thread float* q = &a[1];", f"{TO_THREAD} rvalue"),
        ("threadgroup float a[2][4]; thread float* q = a[1];", f"{TO_THREAD} lvalue"),
        ("device float* q = t;", f"{TO_DEVICE} lvalue of type 'threadgroup float *'"),
        ("device float* q = t + i * 2;", f"{TO_DEVICE} rvalue of type 'threadgroup float *'"),
        ("float v; device float* q = &v;", f"{TO_DEVICE} rvalue of type 'thread float *'"),
        ("float v[4]; device float* q = v;", f"{TO_DEVICE} lvalue of type 'thread float *'"),
        ("device const float* q = c + 1;", "rvalue of type 'const constant float *'"),
        ("for (device float* q = t; i < 4;) *q = 1;", f"{TO_DEVICE} lvalue"),
        ("device float* q = x; q = t;", "assigning to 'device float *' from incompatible type"),
        ("device float* q; q = (t + 1);", "assigning to 'device float *' from incompatible type"),
        ("thread float& r = x[i];", CHANGES),
        ("float v = 0; const device float& r = v;", TEMPORARY),
        ("pointer(x);", f"{NO_MATCH} 'pointer'; address space mismatch in argument 1"),
        ("pointer(&x[i]);", f"{NO_MATCH} 'pointer'"),
        ("pointer(t + 3);", f"{NO_MATCH} 'pointer'"),
        ("threadgroup float a[4]; pointer(a);", f"{NO_MATCH} 'pointer'"),
        ("reference(x[i]);", f"{NO_MATCH} 'reference'"),
        ("float v = 0; const_device(v);", f"{NO_MATCH} 'const_device'"),
        ("both(t);", f"{NO_MATCH} 'both'"),
        ("with_default(t);", f"{NO_MATCH} 'with_default'"),
        ("element(x, 1.0f);", f"{NO_MATCH} 'element'"),
        ("element<float>(x, 1.0f);", f"{NO_MATCH} 'element'"),
        ("generic(x[0], 1.0f);", f"{NO_MATCH} 'generic'"),
        ("t[0] = *(threadgroup float*)x;", f"{C_STYLE} 'device float *' to 'threadgroup float *'"),
        ("auto q = (constant float*)p;", f"{C_STYLE} 'const device float *' to 'const constant"),
        ("auto q = (device float4*)t;", f"{C_STYLE} 'threadgroup float *' to 'device float4 *'"),
        (
            "auto q = reinterpret_cast<threadgroup uint*>(x);",
            "reinterpret_cast from 'device float *' to 'threadgroup uint *' is not allowed",
        ),
    ],
)
def test_conversions_are_refused(body: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse(body)
    assert f"error: {message}" in str(caught.value) or message in str(caught.value)
    assert "error: " in str(caught.value).splitlines()[0]


def test_a_returned_pointer_is_refused() -> None:
    with pytest.raises(CompileError, match=r"cannot initialize return object of type 'device"):
        parse("", result="b")


@pytest.mark.parametrize(
    "body",
    [
        "float v[4]; pointer(v); pointer(&v[1]); reference(v[2]);",
        "both(x); float v[2]; both(v); any(x); any(t); with_default(x, 2);",
        "threadgroup float a[4]; element(a, 1.0f); element(t, x[0]); generic(a[0], x[0]);",
        "const thread float& r = x[i]; const_reference(x[i]); const_reference(t[0]);",
        # Scopes that declare one name in two ways.
        "{ device float* q = x; q[0] = 1; } { threadgroup float* q = t; q[1] = 2; }",
        "{ float x = 1; thread float* q = &x; *q = 2; }",
        "for (threadgroup float* q = t; q < t + 4; ++q) *q = 1;",
        "threadgroup float a[4]; threadgroup float* q = a; auto z = a; q = z;",
        "Shared a[4]; threadgroup float* q = a; q[0] = 1;",
        "device uint* q = (device uint*)x; q[0] = as_type<uint>(p[i] * x[i]);",
        "int d = (x + 4) - (x + 2); x[d] = 1;",
        "device float* q = (device float*)ulong(t);",
        "threadgroup atomic_uint* q = (threadgroup atomic_uint*)t;",
        "device float* q = i > 2 ? x : x + 1; *q = 1;",
        "Range r = {x, 4}; device float* q = r.data; thread Range* s = &r; q = s->data + 1;",
        "float v = t[0], w = x[1]; thread float* q = &w; *q = v * w;",
        "const device packed_float3* q = (const device packed_float3*)p + 1; x[0] = (*q)[0];",
    ],
)
def test_other_sources_are_accepted(body: str) -> None:
    parse(body)


def test_declarations_that_are_not_understood_hide_a_name() -> None:
    # `x` is a reference of unknown type in the inner block.
    parse("{ auto& x = t[0]; thread float* q = nullptr; pointer(q); x = 1; }")
    parse("struct { float a; } x; thread float* q = &x.a; *q = 1;")
