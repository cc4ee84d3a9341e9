"""Lines and columns of findings are those of the user's file, not of what clang compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalbench.checking.check import check
from metalbench.errors import CompileError

HEAD = """\
// buffer: x float32 (64) normal
// buffer: y float32 (64) output
// dispatch: k threads_in_grid=(64) threads=(64)
#include <metal_stdlib>
using namespace metal;
#define AT(p, i) (p)[(i) + 64]
#define TWICE(e) ((e) * 2)
#define PAIR float2
kernel void k(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = 0;
"""
# In each line `^` stands before what is wrong.
LINES = [
    "  y[i] += 1.0h + ^x[i + 70];",
    "\ty[i] += 1.0h;\ty[i] += ^x[i + 70];",
    "  y[i] += float4(1).w * float2(x[i]).yx.x * ^x[i + 70];",
    "  y[i] += PAIR(1).x + ^x[i + 70];",
    "  y[i] += ^AT(x, i) * 2;",
    "  y[i] += TWICE(^x[i + 70]) + 0x10;",
    "  y[i] += TWICE(^AT(x, i + 1));",
    "  /* größer */ y[i] += /* b */ ^x[i + 70];",
    "  y[i] += as_type<float>(1u) + vec<float, 2>(1).x + ^x[i + 70];",
    "  { half h = 1.0h; y[i] += h * 2.0h + ^x[i + 70]; }",
]


def written(folder: Path, lines: list[str]) -> Path:
    path = folder / "k.metal"
    path.write_text(HEAD + "\n".join(lines) + "\n}\n")
    return path


def test_findings_have_the_columns_of_the_users_lines(tmp_path):
    path = written(tmp_path, [line.replace("^", "") for line in LINES])
    first = HEAD.count("\n") + 1
    places = {
        (each.frame.line, each.frame.column)
        for each in check(path).found
        if each.kind == "out-of-bounds" and each.frame is not None
    }
    assert places == {(first + at, line.index("^") + 1) for at, line in enumerate(LINES)}


def test_columns_follow_changes_of_white_space(tmp_path):
    columns = []
    for line in ("  y[i] += x[i + 70];", "  y[i]   +=   x[i + 70];"):
        (finding,) = check(written(tmp_path, [line])).errors
        assert finding.frame is not None
        columns.append(finding.frame.column)
    assert columns == [11, 15]


@pytest.mark.parametrize(
    "line",
    [
        "  y[i] += 1.0h + ^nope;",
        "\ty[i] += 1.0h;\ty[i] += ^nope;",
        "  y[i] += TWICE(^nope) + PAIR(1).x;",
        "  y[i] += float4(1).w + AT(^nope, i);",
    ],
)
def test_errors_of_the_compiler_have_the_columns_of_the_users_lines(tmp_path, line):
    path = written(tmp_path, [line.replace("^", "")])
    with pytest.raises(CompileError) as told:
        check(path)
    assert f"k.metal:{HEAD.count(chr(10)) + 1}:{line.index('^') + 1}: error" in str(told.value)
