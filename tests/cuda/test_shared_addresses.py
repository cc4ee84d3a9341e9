"""Tables of pointers to threadgroup memory: PTX has no initialiser for them."""

from __future__ import annotations

import pytest
from cuda.ptx import check_sound, read

from metalbench.msl import engine
from metalbench.msl.toolchain.compile_kernel import find_shared_initialisers

TABLES = {
    "array": "threadgroup float* parts[2] = {s, s + 64}; parts[i & 1][i] = x[i];",
    "constant-array": "threadgroup float* const parts[2] = {s, s + 64}; parts[i & 1][i] = x[i];",
    "constant-index": "threadgroup float* parts[2] = {s, s + 64}; parts[1][i] = *parts[0];",
    "four": "threadgroup float* p[4] = {s, s + 32, s + 64, s + 96}; p[i & 3][i & 31] = x[i];",
    "nested": "threadgroup float* p[2][2] = {{s, t}, {t + 32, s + 32}};"
    "p[i & 1][(i >> 1) & 1][i & 31] = x[i];",
    "record": "struct P { threadgroup float* a; int n; }; P p[2] = {{s, 3}, {t, 5}};"
    "p[i & 1].a[p[i & 1].n] = x[i];",
    "two-tables": "threadgroup float* p[2] = {s, t}; threadgroup float* q[2] = {t, s};"
    "p[i & 1][i] = q[i & 1][i];",
    "swapped": "threadgroup float* p[2] = {s, t}; for (int k = 0; k < 3; ++k) {"
    "p[k & 1][i] = x[i]; threadgroup float* h = p[0]; p[0] = p[1]; p[1] = h; }",
    "partly-null": "threadgroup float* p[3] = {s, nullptr, t}; if (p[i % 3]) p[i % 3][i] = x[i];",
    "switch": "threadgroup float* p = s; switch (i & 3) { case 1: p = s + 9; break;"
    "case 2: p = t + 5; break; case 3: p = t; } p[i & 31] = x[i];",
}


@pytest.mark.parametrize("table", TABLES)
def test_shared_addresses_are_stored_at_run_time(table):
    source = f"""#include <metal_stdlib>
using namespace metal;
kernel void k(device float* x, uint i [[thread_index_in_threadgroup]]) {{
  threadgroup float s[128], t[128];
  {TABLES[table]}
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[i] = s[127 - i] + t[i];
}}"""
    ptx = read(engine.build_for_gpu(engine.parse(source), "k").path)
    assert find_shared_initialisers(ptx.text) == []
    assert "st.shared" in ptx.text or "generic" not in ptx.text
    check_sound(ptx, assemble=True)
