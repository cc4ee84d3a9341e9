"""Gather and scatter, on processors with and without such instructions."""

from __future__ import annotations

import numpy as np
import pytest
from vectorize.guard_pages import between_guard_pages
from vectorize.launches import (
    AVX2,
    AVX512,
    Form,
    call,
    check,
    emit_text,
    module,
    runs,
    verify_and_link,
)

from metalbench.msl.vectorize.module import vectorize_module

BODY = """
    %k = load i32, ptr %places.lane
    %w = zext i32 %k to i64
    %q = getelementptr TYPE, ptr %a, i64 %w
    %v = load TYPE, ptr %q
    %p = getelementptr TYPE, ptr %out, i64 %w
    store TYPE %v, ptr %p"""


def text_of(type_: str, features: str, *, rows: bool) -> str:
    arrays = {name: np.zeros(32, "u4") for name in ("places", "a", "out")}
    return emit_text(BODY.replace("TYPE", type_), Form(32, rows, features=features), **arrays)


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("type_", ["i32", "float", "i64"])
def test_gather_and_scatter_instructions(type_, rows):
    suffix = {"i32": "i32", "float": "f32", "i64": "i64"}[type_]
    text = text_of(type_, AVX512, rows=rows)
    assert f"@llvm.masked.gather.v32{suffix}.v32p0" in text
    assert f"@llvm.masked.scatter.v32{suffix}.v32p0" in text


@pytest.mark.parametrize(("features", "type_"), [("", "i32"), (AVX2, "i32"), (AVX2, "i16")])
@pytest.mark.parametrize("rows", [True, False])
def test_loops_without_such_instructions(features, type_, rows):
    text = text_of(type_, features, rows=rows)
    assert "llvm.masked" not in text.replace(f"llvm.masked.load.v32{'i32'}", "")
    assert ("group." in text) is rows
    assert ("llvm.cttz" in text) is not rows


@pytest.mark.parametrize("type_", ["i8", "i16", "half", "bfloat"])
def test_small_elements_are_gathered_as_words(type_):
    text = text_of(type_, AVX512, rows=True)
    assert "@llvm.masked.gather.v32i32.v32p0" in text
    assert "llvm.masked.scatter" not in text


@pytest.mark.parametrize("features", [AVX2, AVX512])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "f2"])
def test_each_lane_accesses_its_element(tmp_path, features, dtype):
    random = np.random.default_rng(2)
    a = random.integers(0, 100, 64).astype(dtype)
    places = random.permutation(64)[:32].astype("u4")
    kind = {"u1": "i8", "i1": "i8", "u2": "i16", "f2": "half"}[dtype]

    def want(threads, places, a, out):
        out[places[threads.lane]] = a[places[threads.lane]]

    form = Form(32, rows=True, features=features)
    check(
        tmp_path, form, BODY.replace("TYPE", kind), want, places=places, a=a, out=np.zeros_like(a)
    )


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("kind", ["i8", "i16"])
def test_no_other_page_is_accessed(tmp_path, kind, at_end):
    """All elements of an array at the end or start of a mapped page."""
    size = int(kind[1:]) // 8
    places, out = np.random.default_rng(3).permutation(32).astype("u4"), np.zeros(32, f"u{size}")
    form = Form(32, rows=True, features=AVX512)
    arrays = {"places": places, "a": np.zeros_like(out), "out": out}
    path = tmp_path / "body.so"
    verify_and_link(
        vectorize_module(module(BODY.replace("TYPE", kind), "", arrays, AVX512), form.launch), path
    )
    if not runs(AVX512):
        return
    with between_guard_pages(32 * size, at_end=at_end) as memory:
        a = memory.view(out.dtype)
        a[:] = np.arange(32)
        call(path, form, [places.ctypes.data, a.ctypes.data, out.ctypes.data], [])
        np.testing.assert_array_equal(out, a)
