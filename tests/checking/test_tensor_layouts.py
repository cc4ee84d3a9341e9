"""The tool `tensor`: kernels that rely on a layout of cooperative tensors are found, others not."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalbench.checking.check import check
from metalbench.checking.findings import KINDS, TENSOR, Findings, parse_tools

HEAD = """// std: metal4.0
// buffer: a float32 (256) normal
// buffer: b float32 (512) normal
// buffer: c float32 (512) output
// dispatch: k threads_in_grid=(32) threads=(32)
#include <metal_stdlib>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
kernel void k(device float* a, device float* b, device float* c,
              uint lane [[thread_index_in_simdgroup]]) {
  auto A = tensor(a, dextents<int, 2>(16, 16)), B = tensor(b, dextents<int, 2>(32, 16));
  auto C = tensor(c, dextents<int, 2>(32, 16));
  constexpr auto shape = matmul2d_descriptor(16, 32, 16, false, false, true);
  matmul2d<shape, execution_simdgroup> op;
  auto left = op.get_left_input_cooperative_tensor<float, float, float>();
  auto right = op.get_right_input_cooperative_tensor<float, float, float>();
  auto sums = op.get_destination_cooperative_tensor<decltype(left), decltype(right), float>();
  const uint quad = lane >> 2;
  const uint row = (quad & 4) | ((lane >> 1) & 3), column = ((quad & 2) | (lane & 1)) * 4;
"""
LOAD = "left.load(A); right.load(B);"
RUN, STORE = "op.run(left, right, sums);", "sums.store(C);"
ALL = "for (uint i = 0; i < sums.get_capacity(); ++i)"
# Line by line what follows HEAD; the faulty lines end with a mark.
PLANTED = {
    "fills the left operand": [
        "right.load(B);",
        "for (uint i = 0; i < 8; ++i)",
        "  left[i] = a[(row + 8 * (i >> 2)) * 16 + column + (i & 3)];  // <",
        *(RUN, STORE),
    ],
    "fills the right operand": [
        "left.load(A);",
        "for (uint i = 0; i < 16; ++i)",
        "  right[i] = b[(row + 8 * (i >> 2 & 1)) * 32 + column + (i & 3) + i / 8 * 16];  // <",
        *(RUN, STORE),
    ],
    "reads the destination": [
        *(LOAD, RUN),
        "for (uint i = 0; i < 16; ++i)",
        "  c[(row + 8 * (i >> 2 & 1)) * 32 + column + (i & 3) + i / 8 * 16] = sums[i];  // <",
    ],
    "stores elements by lane": [
        *(LOAD, RUN),
        ALL,
        "  c[lane * 16 + i] = sums[i];  // <",
    ],
    "loads elements by lane": [
        "right.load(B);",
        "for (uint i = 0; i < left.get_capacity(); ++i)",
        "  left[i] = a[lane * 8 + i];  // <",
        *(RUN, STORE),
    ],
    "scales rows by lane": [
        *(LOAD, RUN),
        ALL,
        "  sums[i] *= 1 + row + 8 * (i >> 2 & 1);  // <",
        STORE,
    ],
    "adds a bias by lane": [
        *(LOAD, RUN),
        ALL,
        "  sums[i] += b[column + (i & 3) + i / 8 * 16];  // <",
        STORE,
    ],
    "masks by lane": [
        *(LOAD, RUN),
        ALL,
        "  if (column + (i & 3) + i / 8 * 16 > row + 8 * (i >> 2 & 1)) sums[i] = 0;  // <",
        STORE,
    ],
    "reduces rows by shuffles": [
        *(LOAD, RUN),
        "float total[2] = {0, 0};",
        "for (uint i = 0; i < 16; ++i)",
        "  total[i >> 2 & 1] += sums[i];  // <",
        "for (uint j = 0; j < 2; ++j) {",
        "  total[j] += simd_shuffle_xor(total[j], 1);",
        "  total[j] += simd_shuffle_xor(total[j], 8);",
        "}",
        ALL,
        "  sums[i] = total[i >> 2 & 1];  // <",
        STORE,
    ],
    "exchanges elements of lanes": [
        *(LOAD, RUN),
        ALL,
        "  sums[i] = simd_shuffle_xor(sums[i], 2);  // <",
        STORE,
    ],
}
CLEAN = {
    "loads and stores": [LOAD, RUN, STORE],
    "changes all elements alike": [LOAD, RUN, ALL, "  sums[i] = max(sums[i], 0.0f);", STORE],
    "asks for places": [
        *(LOAD, RUN),
        ALL + " {",
        "  const auto at = sums.get_multidimensional_index(i);",
        "  sums[i] = at[0] > at[1] ? 0 : sums[i] + b[at[0]];",
        "}",
        STORE,
    ],
    "fills by places": [
        "right.load(B);",
        "for (uint i = 0; i < left.get_capacity(); ++i) {",
        "  const auto at = left.get_multidimensional_index(i);",
        "  left[i] = a[at[1] * 16 + at[0]];",
        "}",
        *(RUN, STORE),
    ],
    "reduces rows": [
        *(LOAD, RUN),
        "auto most = op.get_row_reduction_destination_cooperative_tensor<decltype(left),"
        " decltype(right), float>();",
        "reduce_rows(sums, most, reduction_operation::max, -INFINITY);",
        "for (auto at = sums.begin(); at != sums.end(); ++at) *at -= *most.map_iterator(at);",
        STORE,
    ],
    "multiplies in one thread": [
        "constexpr auto all = matmul2d_descriptor(16, 32, 16);",
        "matmul2d<all, execution_thread> alone;",
        "if (lane == 0) alone.run(A, B, C);",
    ],
}


def run(folder: Path, lines: list[str]) -> Findings:
    path = folder / "k.metal"
    path.write_text(HEAD + "\n".join(lines) + "\n}\n")
    return check(path, tools=TENSOR)


@pytest.mark.parametrize("name", PLANTED)
def test_layout_dependent_kernels_are_found_with_their_lines(tmp_path, name):
    findings = run(tmp_path, PLANTED[name])
    (found,) = findings.found
    assert found.kind == "layout-dependent"
    assert "`c`" in found.message
    begin = HEAD.count("\n") + 1
    marked = [begin + i for i, line in enumerate(PLANTED[name]) if line.endswith("// <")]
    assert found.frames[0].line == marked[0]
    assert f"at line {', '.join(map(str, marked))}" in found.message
    assert not findings.passed


@pytest.mark.parametrize("name", CLEAN)
def test_kernels_of_every_layout_have_no_findings(tmp_path, name):
    assert run(tmp_path, CLEAN[name]).found == ()


SCOPES = {
    "too few SIMD-groups": ("simdgroups<4>", "op.run(X, Y, Z);", 64, "is not that of the"),
    "too many SIMD-groups": ("simdgroups<1 + 1>", "op.run(X, Y, Z);", 128, "is not that of the"),
    "lanes that are elsewhere": (
        "simdgroup",
        "if (lane < 16) op.run(X, Y, Z);",
        32,
        "not all lanes",
    ),
    "as many as there are": ("simdgroups<2>", "op.run(X, Y, Z);", 64, ""),
}


@pytest.mark.parametrize("name", SCOPES)
def test_scopes_are_the_threads_that_run_a_product(tmp_path, name):
    scope, code, threads, message = SCOPES[name]
    text = HEAD.replace("=(32)", f"=({threads})").replace(
        "execution_simdgroup>", f"execution_{scope}>"
    )
    body = text[text.index("  auto left") : text.index("  const uint quad")]
    path = tmp_path / "k.metal"
    operands = "auto X = A.slice(0, 0), Y = B.slice(0, 0), Z = C.slice(0, 0);"
    path.write_text(f"{text.replace(body, '')}{operands}\n{code}\n}}\n")
    found = check(path, tools="sync").found
    assert len(found) == bool(message)
    if message:
        assert found[0].kind == "simdgroup"
        assert message in found[0].message
        assert found[0].frames[0].line == path.read_text().split("\n").index(code) + 1


def test_the_tool_is_taken_only_by_name():
    assert TENSOR not in parse_tools(["all"])
    assert parse_tools(["race,tensor"]) == ("race", "tensor")
    assert KINDS["layout-dependent"].advice
