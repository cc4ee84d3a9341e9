"""Features of C++ that Metal does not have are refused in the words of its compiler."""

from __future__ import annotations

import pytest

from metalbench._core import CompileError
from metalbench.msl import engine

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
KERNEL = "kernel void f(device float* x, uint i [[thread_position_in_grid]])"
STATIC = "variables in function scope cannot be declared static"
AUTOMATIC = "automatic variable qualified with an address space"


def build(text: str) -> None:
    engine.build(engine.parse(HEADER + text, "k.metal"), "f")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{KERNEL} {{ goto end; end: x[i] = 1; }}", "'goto' is not supported in Metal"),
        (
            f"{KERNEL} {{ register float a = 1; x[i] = a; }}",
            "Metal does not support the 'register' storage class specifier",
        ),
        (f"{KERNEL} {{ long long a = 1; x[i] = a; }}", "'long long' is not supported in Metal"),
        (
            f"{KERNEL} {{ unsigned long long a = 1; x[i] = a; }}",
            "'long long' is not supported in Metal",
        ),
        (
            f"float g() {{ return 1; }}\n{KERNEL} {{ x[i] = noexcept(g()); }}",
            "'noexcept' is not supported in Metal",
        ),
        (
            f"{KERNEL} {{ float a[i]; a[0] = 1; x[i] = a[0]; }}",
            "variable length arrays are not supported in Metal",
        ),
        (f"{KERNEL} {{ static float a = 1; x[i] = a; }}", STATIC),
        (f"{KERNEL} {{ static const float a = 1; x[i] = a; }}", STATIC),
        (
            f"float g() {{ static constexpr float a = 1; return a; }}\n{KERNEL} {{ x[i] = g(); }}",
            STATIC,
        ),
        (
            f"float g(uint i) {{ threadgroup float a[4]; return a[i]; }}\n"
            f"{KERNEL} {{ x[i] = g(i); }}",
            AUTOMATIC,
        ),
        (
            f"struct S {{ float g() {{ threadgroup float a; return a; }} }};\n"
            f"{KERNEL} {{ S s; x[i] = s.g(); }}",
            AUTOMATIC,
        ),
        (
            f"float main() {{ return 1; }}\n{KERNEL} {{ x[i] = 1; }}",
            "non-qualified function cannot be called 'main'",
        ),
        (
            "kernel float f(device float* x) { return 1; }",
            "invalid return type 'float' for kernel function",
        ),
        (
            "kernel void f(device float* x, ...) { x[0] = 1; }",
            "invalid prototype, variadic arguments are not allowed in Metal qualified functions",
        ),
        (
            f"struct S {{ kernel void g(device float* x) {{ x[0] = 1; }} }};\n"
            f"{KERNEL} {{ x[i] = 1; }}",
            "kernel function cannot be a member function",
        ),
    ],
)
def test_a_restriction_is_refused_in_metals_words(text: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        build(text)
    assert f"error: {message}" in str(caught.value)
    assert str(caught.value).startswith("k.metal:")


@pytest.mark.parametrize(
    "text",
    [
        f"{KERNEL} {{ constexpr float a = 1; x[i] = a; }}",
        f"{KERNEL} {{ static constant float a[2] = {{1, 2}}; x[i] = a[i & 1]; }}",
        f"{KERNEL} {{ static threadgroup float a[64]; a[i & 63] = 1; x[i] = a[i & 63]; }}",
        f"static float g() {{ return 1; }}\n{KERNEL} {{ x[i] = g(); }}",
        f"struct S {{ static float g() {{ return 1; }} }};\n{KERNEL} {{ x[i] = S::g(); }}",
        f"float g() noexcept {{ return 1; }}\n{KERNEL} {{ x[i] = g(); }}",
        f"float g(uint i, threadgroup float* a) {{ threadgroup float* b = a; return b[i]; }}\n"
        f"{KERNEL} {{ threadgroup float a[64]; a[i & 63] = 1; x[i] = g(i & 63, a); }}",
        f"{KERNEL} {{ {{ threadgroup float a[64]; a[i & 63] = 1; x[i] = a[i & 63]; }} }}",
        f"{KERNEL} {{ long a = 1; unsigned long b = 2; x[i] = a + b; }}",
        "template <typename T> kernel void g(device T* x) { x[0] = 1; }\n"
        'template [[host_name("f")]] kernel void g<float>(device float*);',
        f"struct S {{ float register_; }};\n"
        f"{KERNEL} {{ S s; s.register_ = 1; x[i] = s.register_; }}",
    ],
)
def test_a_similar_construct_is_accepted(text: str) -> None:
    build(text)
