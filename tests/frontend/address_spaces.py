"""A kernel that calls overloads, and functions that return the address space of their overload."""

from __future__ import annotations

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
# Each function says which space it was chosen for.
FUNCTIONS = """
int by(thread const float& a) { return 1; }
int by(threadgroup const float& a) { return 2; }
int by(device const float& a) { return 3; }
int by(constant const float& a) { return 4; }
template <typename T> int at(thread const T* a) { return 1; }
template <typename T> int at(threadgroup const T* a) { return 2; }
template <typename T> int at(device const T* a) { return 3; }
template <typename T> int at(constant const T* a) { return 4; }
"""
KERNEL = """kernel void f(device int* out, device float* d, constant float* c,
                          threadgroup float* dynamic [[threadgroup(0)]]) {"""


def results(*expressions):
    """Statements that store these."""
    return "".join(f"out[{place}] = {each};\n" for place, each in enumerate(expressions))
