"""Loops over groups of active lanes."""

from __future__ import annotations

import numpy as np
import pytest
from vectorize.launches import Form, emit_text

OUT = np.zeros(32, "u4")


@pytest.mark.parametrize("width", [8, 16, 32])
def test_eight_lanes_at_a_time(width):
    body = """
        %k = load i32, ptr %places.lane
        %w = zext i32 %k to i64
        %q = getelementptr i32, ptr %a, i64 %w
        %v = load i32, ptr %q
        store i32 %v, ptr %out.lane"""
    text = emit_text(body, Form(width), places=OUT, a=OUT, out=OUT)
    loop = text[text.index("\ngroup.") : text.index("\ndone.")]
    assert loop.count("load i32, ptr %v") >= 8
    assert f", {width}\n" in loop


def test_affine_addresses_are_not_stored():
    body = """
        %w = mul i64 %i, 9
        %q = getelementptr i32, ptr %a, i64 %w
        %v = load i32, ptr %q
        store i32 %v, ptr %out.lane"""
    text = emit_text(body, Form(), a=np.zeros(288, "u4"), out=OUT)
    assert "alloca <32 x ptr>" not in text
    assert "i64 36\n" in text
