"""More findings than a report shows: none of them is lost, and errors come first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from metalbench.checking.check import check
from metalbench.checking.findings import CheckFinding, Findings, Frame, merge_findings
from metalbench.report.findings import MOST_SHOWN, findings_text

HEAD = """\
// buffer: x float32 (64) normal
// buffer: y float32 ({size}) zeros inout
// dispatch: k threads_in_grid=(64) threads=(64)
#include <metal_stdlib>
using namespace metal;
kernel void k(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {{
"""


def finding(kind: str, line: int, **changes: object) -> CheckFinding:
    frames = (Frame("k", "k.metal", line, 3),) if line else ()
    return replace(CheckFinding(kind, "k", f"{kind} here", 1, frames, "file", "float32"), **changes)


def test_text_shows_errors_first_and_counts_the_rest():
    several = [finding("same-value-race", line) for line in range(1, MOST_SHOWN + 50)]
    several += [finding("out-of-bounds", 900), finding("race", 901)]
    found = Findings("k", ("file",), ("mem", "race"), tuple(merge_findings(several)))
    text = findings_text(found)
    assert text.startswith("k.metal:900:3: error: out-of-bounds")
    assert "note: 51 more findings are not shown (warning: same-value-race 51)" in text
    assert text.endswith(f"k: 2 errors, {MOST_SHOWN + 49} warnings (mem, race; size file)\n")
    assert not found.passed
    assert found.places_by_kind == {
        "out-of-bounds": 1,
        "race": 1,
        "same-value-race": MOST_SHOWN + 49,
    }


def test_findings_count_places_that_are_not_listed():
    rest = finding("race", 0, places=70, count=140)
    found = Findings(
        "k", ("a", "b"), ("race",), tuple(merge_findings([rest, replace(rest, places=60)]))
    )
    assert found.places_by_kind == {"race": 70}
    assert found.found[0].count == 280
    assert "k: 70 errors" in findings_text(found)
    assert not found.passed


def test_findings_at_one_place_of_the_source_are_one(tmp_path):
    """A loop that is unrolled has many places in the compiled code."""
    path = tmp_path / "k.metal"
    body = "  for (uint j = 0; j < 16; ++j) y[j] = 3;\n}\n"
    path.write_text(HEAD.format(size=64) + body)
    (only,) = check(path).found
    assert only.kind == "same-value-race"


@pytest.mark.slow
def test_check_counts_findings_beyond_the_listed_ones(tmp_path):
    lines = [f"  y[{at}] = {at}.0f;" for at in range(2100)]
    path = tmp_path / "k.metal"
    text = HEAD.format(size=2110) + "\n".join(lines) + "\n  y[2100 + i] = x[i];\n}\n"
    path.write_text(text)
    found = check(path)
    assert [each.kind for each in found.errors] == ["out-of-bounds"]
    assert found.places_by_kind["same-value-race"] == 2100
    (rest,) = [each for each in found.found if each.places > 1]
    assert rest.places == 2100 - 2048
