"""Loops over lanes that are all there, some at a time."""

from __future__ import annotations

import numpy as np
import pytest
from emission.launches import Form, emitted

OUT = np.zeros(32, "u4")


@pytest.mark.parametrize("width", [8, 16, 32])
def test_eight_lanes_at_a_time(width):
    body = """
        %k = load i32, ptr %places.lane
        %w = zext i32 %k to i64
        %q = getelementptr i32, ptr %a, i64 %w
        %v = load i32, ptr %q
        store i32 %v, ptr %out.lane"""
    text = emitted(body, Form(width), places=OUT, a=OUT, out=OUT)
    turn = text[text.index("\nturn.") : text.index("\ndone.")]
    assert turn.count("load i32, ptr %v") >= 8
    assert f", {width}\n" in turn


def test_addresses_that_follow_need_no_memory_of_their_own():
    body = """
        %w = mul i64 %i, 9
        %q = getelementptr i32, ptr %a, i64 %w
        %v = load i32, ptr %q
        store i32 %v, ptr %out.lane"""
    text = emitted(body, Form(), a=np.zeros(288, "u4"), out=OUT)
    assert "alloca <32 x ptr>" not in text
    assert "i64 36\n" in text
