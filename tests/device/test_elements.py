"""Element types of arguments in the reflection."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("declared", "element"),
    [
        ("device float* x", "float32"),
        ("constant float4& x", "float32"),
        ("device packed_half3* x", "float16"),
        ("device bfloat4* x", "bfloat16"),
        ("device uint2* x", "uint32"),
        ("device uint32_t* x", "uint32"),
        ("device atomic_uint* x", "uint32"),
        ("device atomic<float>* x", "float32"),
        ("device float2x2* x", "float32"),
        ("device ulong* x", "uint64"),
        ("device bool* x", "bool"),
        ("device real* x", "float32"),
        ("device Pair* x", None),
        ("device void* x", None),
    ],
)
def test_an_argument_has_its_element_type(compile_kernel, declared, element):
    types = "struct Pair { float a; int b; };\ntypedef float real;\n"
    pipeline = compile_kernel(f"{types}kernel void f({declared}, device float* y) {{ y[0] = 1; }}")
    assert {each.name: each.element for each in pipeline.arguments} == {
        "x": element,
        "y": "float32",
    }
