"""Pointers into arrays that are members of structs: their bounds, and findings beyond them."""

from __future__ import annotations

import pytest
from checking.test_check import HEAD, file, found_in

STRUCTS = """\
struct Tile { float a[4][8]; float b[32]; };
struct Open { uint count; float data[1]; };
static float sum(threadgroup const float* p, uint n) {
  float s = 0;
  for (threadgroup const float* end = p + n; p != end; ++p) s += *p;
  return s;
}
"""


@pytest.mark.slow
def test_a_pointer_into_a_member_may_reach_the_whole_member(tmp_path):
    """Rows of an array of arrays, whole structs through casts, and arrays as long as a buffer."""
    body = """\
  threadgroup Tile tile;
  for (uint k = t; k < 32; k += 32) tile.a[k / 8][k % 8] = tile.b[k] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float v = sum(tile.a[0], 32) + sum(&tile.b[8], 24) + sum((threadgroup float*)&tile, 64);
  v += sum(t < 16 ? tile.a[1] : tile.b, 8);
  device const float* open = ((device const Open*)x)->data;
  y[i] = v + open[t];"""
    head = HEAD.replace("n = 100", "n = 128")
    assert found_in(file(tmp_path, body, before=STRUCTS, head=head)).found == ()


@pytest.mark.slow
def test_check_reports_a_pointer_out_of_bounds_once(tmp_path):
    """The member's name, where it is known; and not again where the whole variable is left."""
    body = "  threadgroup Tile tile;\n  tile.b[t] = 0;\n  threadgroup float* p = &tile.a[0][0];"
    head = HEAD.replace("n = 100", "n = 32")
    path = file(tmp_path, f"{body}\n  p[t + 1] = x[i];\n  y[i] = 1;", before=STRUCTS, head=head)
    found = found_in(path).found
    assert [each.kind for each in found if "struct" in each.message] == ["out-of-bounds"]
    assert "of the array that `p` points into: at byte 128 from its first" in found[0].message
    path = file(tmp_path, f"{body}\n  p[t + 64] = x[i];\n  y[i] = 1;", before=STRUCTS, head=head)
    kinds = [each.message.split(":")[0] for each in found_in(path).found]
    assert len(kinds) == 1
    assert "past the end of threadgroup memory" in kinds[0]
