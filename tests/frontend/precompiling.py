"""A kernel whose preamble clang precompiles for the second kernel with the same preamble."""

TEXT = """#include <metal_stdlib>
using namespace metal;
float g(float x) { return exp(x) / 3; }
kernel void f(device float* a, constant int& n, uint i [[thread_position_in_grid]]) {
  threadgroup float t[32];
  t[i] = simd_sum(g(a[i]));
  threadgroup_barrier(mem_flags::mem_threadgroup);
  a[i] = t[31 - i] + i / n;
}
"""
