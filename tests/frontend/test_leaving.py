"""Test mark_loop_exits: loop exits after a SIMD-group function."""

from __future__ import annotations

import pytest

from metalbench.msl.frontend.lower import lower

_SOURCE = """
#include <metal_stdlib>
using namespace metal;
uint asks(uint x) { return simd_sum(x); }
uint turns(uint x) { for (uint k = 0; k < 3; ++k) x += simd_sum(x); return x; }
uint f(uint x) { BODY return x; }
kernel void k(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = f(i); }
"""
BEGINS = "const auto mb_turn = mb::turn_begins();"
MARK = "mb::turn_ends(mb_turn)"


def lower_text(source, body):
    text = lower(source(_SOURCE.replace("BODY", body)), "k", {}).code.text
    return text[text.index("uint f(") : text.index("return x; }", text.index("uint f("))]


@pytest.mark.parametrize(
    ("body", "marked"),
    [
        ("for (;;) { if (x) { x = simd_sum(x); break; } }", f"{MARK}; break;"),
        ("for (;;) { if (x) { x = asks(x); break; } }", f"{MARK}; break;"),
        ("do { if (x) { if (x > 2) { x = simd_max(x); } break; } } while (x);", f"{MARK}; break;"),
        (
            "while (x) { if (x) { return simd_sum(x); } }",
            "return mb::turn_ends(mb_turn, simd_sum(x));",
        ),
        ("while (x) { if (x) { x = simd_sum(x); x = 0; } }", f"x = 0; {MARK}; }}"),
        ("for (;;) { if (x) { while (x) --x; x = simd_sum(x); break; } }", f"{MARK}; break;"),
        ("for (;;) { if (x) { x = turns(x); break; } }", f"{MARK}; break;"),
        (
            "for (;;) { switch (x) { case 1: { x = simd_sum(x); return 1; } } }",
            "turn_ends(mb_turn, 1)",
        ),
        ("while (x) { switch (x) { case 1: x = simd_sum(x); break; } }", f"{MARK}; break;"),
        ("while (x) { if (x > 2) { x = simd_sum(x); continue; } --x; }", f"{MARK}; continue;"),
        ("while (x) { if (x > 2) x = simd_sum(x); --x; }", f"{{ x = simd_sum(x); {MARK}; }}"),
        ("for (;;) { if (x) { x = simd_sum(x); } if (x) break; }", f"{MARK}; }}"),
        ("for (;;) if (x) { x = simd_sum(x); break; }", f"{{ {BEGINS} if (x) {{"),
        ("do if (x) x = simd_sum(x); else --x; while (x);", f"{MARK}; }} else --x; }} while"),
        (
            "for (;;) { for (uint k = 0; k < x; ++k) { x = simd_sum(x); } if (x) break; }",
            f"{{ for (uint k = 0; k < x; ++k) {{ x = simd_sum(x); }} {MARK}; }} if (x) break;",
        ),
        (
            "while (x) for (uint k = 0; k < x; ++k) x = simd_sum(x);",
            f"{{ {BEGINS} {{ for (uint k = 0; k < x; ++k) x = simd_sum(x); {MARK}; }} }}",
        ),
    ],
)
def test_mark_loop_exits_after_a_collective(source, body, marked):
    assert marked in lower_text(source, body)


def test_mark_loop_exits_names_the_innermost_loop(source):
    body = "for (;;) { while (x) { --x; } if (x) { x = simd_sum(x); break; } }"
    text = lower_text(source, body)
    assert (
        f"for (;;) {{ {BEGINS} while (x) {{ --x; }} if (x) {{ x = simd_sum(x); {MARK}; break;"
        in text
    )


@pytest.mark.parametrize(
    "body",
    [
        "for (;;) { if (x) { x = x + 1; break; } x = simd_sum(x); }",
        "for (;;) { if (x) { x = simd_sum(x); continue; } }",
        "for (;;) { switch (x) { case 1: { x = simd_sum(x); break; } } }",
        "if (x) { return simd_sum(x); }",
        # Such a loop only counts: nothing that is done in it tells LLVM that a turn is the last.
        "for (uint k = 0; k < 9; ++k) { if (x) { x = simd_sum(x); } }",
    ],
)
def test_mark_loop_exits_leaves_other_loops(source, body):
    assert "turn_ends" not in lower_text(source, body)


def test_mark_loop_exits_ignores_the_jumps_of_lambdas(source):
    body = (
        "for (;;) { auto g = [](uint a) { if (a) { a = simd_sum(a); return a; } return a; }; "
        "x = g(x); if (x) break; }"
    )
    text = _SOURCE.replace("BODY", body)
    lowered = lower(source(text, __METAL_VERSION__="400"), "k", {}).code.text
    assert "a = simd_sum(a); return a; } return a; };" in lowered
    assert "turn_ends" not in lowered


def test_mark_loop_exits_ends_all_enclosing_loops_at_return(source):
    body = "for (;;) { while (simd_any(x)) { if (x) { x = simd_sum(x); return x; } } }"
    text = lower_text(source, body)
    assert f"for (;;) {{ {BEGINS} " in text
    assert "{ const auto mb_turn_1 = mb::turn_begins(); if (x)" in text
    assert "return mb::turn_ends(mb_turn, mb::turn_ends(mb_turn_1, x));" in text


def test_mark_loop_exits_forbids_unrolling(source):
    body = """for (;;) {
#pragma unroll 4
      for (uint k = 0; k < 4; ++k) { if (x) { x = simd_sum(x); break; } }
      for (;;) { x = simd_sum(x); }
    }"""
    text = lower_text(source, body)
    around, inner, other = (part.rpartition("{")[2] for part in text.split("for (")[:3])
    assert around.strip() == "MB_LOOP_OF_TURNS"
    assert inner.split() == ['MB_LOOP_HINT("unroll', '4")', "MB_LOOP_OF_TURNS"]
    assert "MB_LOOP" not in other
    assert "#pragma" not in text
