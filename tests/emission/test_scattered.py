"""Elements anywhere in memory, on processors with and without instructions for them."""

from __future__ import annotations

import numpy as np
import pytest
from emission.launches import AVX2, AVX512, Form, emitted

BODY = """
    %k = load i32, ptr %places.lane
    %w = zext i32 %k to i64
    %q = getelementptr TYPE, ptr %a, i64 %w
    %v = load TYPE, ptr %q
    %p = getelementptr TYPE, ptr %out, i64 %w
    store TYPE %v, ptr %p"""


def text_of(type_: str, features: str, *, rows: bool) -> str:
    arrays = {name: np.zeros(32, "u4") for name in ("places", "a", "out")}
    return emitted(BODY.replace("TYPE", type_), Form(32, rows, features=features), **arrays)


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("type_", ["i32", "float", "i64"])
def test_instructions_where_there_are_some(type_, rows):
    suffix = {"i32": "i32", "float": "f32", "i64": "i64"}[type_]
    text = text_of(type_, AVX512, rows=rows)
    assert f"@llvm.masked.gather.v32{suffix}.v32p0" in text
    assert f"@llvm.masked.scatter.v32{suffix}.v32p0" in text


@pytest.mark.parametrize(("features", "type_"), [("", "i32"), (AVX2, "i32"), (AVX512, "i16")])
@pytest.mark.parametrize("rows", [True, False])
def test_loops_over_lanes_where_there_are_none(features, type_, rows):
    text = text_of(type_, features, rows=rows)
    assert "llvm.masked" not in text.replace(f"llvm.masked.load.v32{'i32'}", "")
    assert ("turn" in text) is rows
    assert ("llvm.cttz" in text) is not rows
