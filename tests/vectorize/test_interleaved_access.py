"""Interleaved accesses, and the memory around them."""

from __future__ import annotations

import numpy as np
import pytest
from vectorize.guard_pages import between_guard_pages
from vectorize.launches import FORMS, ROWS, Form, call, emit_text, module, verify_and_link

from metalbench.msl.vectorize.module import vectorize_module


@pytest.mark.parametrize("at_end", [False, True], ids=["at the start", "at the end"])
@pytest.mark.parametrize("wanted", [(0,), (1,), (0, 1), (2,), (0, 2), (0, 1, 2), (1, 3), (3,)])
@pytest.mark.parametrize("factor", [2, 3, 4])
@pytest.mark.parametrize("kind", ["i8", "i16", "i32"])
@pytest.mark.parametrize("form", [ROWS, Form(16), Form(8)], ids=["32", "16", "8"])
def test_no_element_beyond_the_row_is_accessed(tmp_path, form, kind, factor, wanted, at_end):
    """Elements with gaps between them, at the end and the start of a page."""
    if wanted[-1] >= factor:
        return
    parts = "\n".join(
        f"%o{k} = getelementptr {kind}, ptr %q, i64 {k}\n%v{k} = load {kind}, ptr %o{k}\n"
        f"%p{k} = getelementptr {kind}, ptr %out, i64 {32 * k}\n"
        f"%r{k} = getelementptr {kind}, ptr %p{k}, i64 %i\nstore {kind} %v{k}, ptr %r{k}"
        for k in wanted
    )
    body = f"%w = mul i64 %i, {factor}\n%q = getelementptr {kind}, ptr %a, i64 %w\n{parts}"
    size = int(kind[1:]) // 8
    out = np.zeros(128, f"u{size}")
    text = vectorize_module(module(body, "", {"a": out, "out": out}), form.launch)
    verify_and_link(text, tmp_path / "body.so")
    # Lane 0 has its first element at the array's start, and the last lane its last one at its end.
    many = (form.width - 1) * factor + wanted[-1] + 1 - wanted[0]
    with between_guard_pages(size * many, at_end=at_end) as memory:
        memory.view(out.dtype)[:] = np.arange(many)
        start = memory.ctypes.data - size * wanted[0]
        call(tmp_path / "body.so", form, [start, out.ctypes.data], [])
        for k in wanted:
            expected = np.arange(form.width) * factor + k - wanted[0]
            np.testing.assert_array_equal(out[32 * k :][: form.width], expected)
        del memory


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("kind", ["i8", "i16", "float", "i64"])
def test_groups_of_elements(check_form, kind, count, form):
    """Structs of equal members and vectors, stored in another order."""
    type_ = f"[{count} x {kind}]"
    parts = "\n".join(
        f"%v{k} = extractvalue {type_} %v, {k}\n"
        f"%n{k} = insertvalue {type_} {f'%n{k - 1}' if k else 'poison'}, {kind} %v{k}, {count - 1 - k}"
        for k in range(count)
    )
    body = f"""
        %q = getelementptr {type_}, ptr %a, i64 %i
        %v = load {type_}, ptr %q
        {parts}
        %p = getelementptr {type_}, ptr %out, i64 %i
        store {type_} %n{count - 1}, ptr %p"""
    dtype = {"i8": "u1", "i16": "u2", "float": "f4", "i64": "u8"}[kind]

    def want(t, a, out):
        out.reshape(32, count)[t.lane] = a.reshape(32, count)[t.lane, ::-1]

    a = np.arange(32 * count).astype(dtype)
    check_form(form, body, want, a=a, out=np.zeros_like(a))


@pytest.mark.parametrize("form", [Form(), Form(rows=False, live=0x00FF1234)])
@pytest.mark.parametrize("index", ["and i32 %k, 31", "add i32 %index, %n"])
def test_vectors_at_varying_addresses(check_form, form, index):
    """At addresses that depend on the lane in any way, or that are checked."""
    body = f"""
        %k = load i32, ptr %places.lane
        %at = {index}
        %w = zext i32 %at to i64
        %q = getelementptr <4 x float>, ptr %a, i64 %w
        %v = load <4 x float>, ptr %q, align 16
        %n4 = fneg <4 x float> %v
        %p = getelementptr <4 x float>, ptr %out, i64 %w
        store <4 x float> %n4, ptr %p, align 16"""

    def want(t, a, places, out, n):
        at = places[t.lane] % 32 if index[0] == "a" and "31" in index else t.index + int(n)
        out.reshape(-1, 4)[at] = -a.reshape(-1, 4)[at]

    places = np.random.default_rng(1).permutation(32).astype("u4")
    a = np.arange(256, dtype="f4")
    check_form(form, body, want, a=a, places=places, out=np.zeros(256, "f4"), n=-64)


def test_a_row_of_groups_is_loaded_and_shuffled():
    body = """
        %q = getelementptr <4 x float>, ptr %a, i64 %i
        %v = load <4 x float>, ptr %q
        %s = extractelement <4 x float> %v, i64 2
        store float %s, ptr %out.lane"""
    text = emit_text(body, a=np.zeros(128, "f4"), out=np.zeros(32, "f4"))
    assert text.count("load <4 x float>") == 32
    assert "masked" not in text


def test_large_strides_are_not_rows():
    body = """
        %w = mul i64 %i, 5
        %q = getelementptr float, ptr %a, i64 %w
        %v = load float, ptr %q
        store float %v, ptr %out.lane"""
    text = emit_text(body, a=np.zeros(160, "f4"), out=np.zeros(32, "f4"))
    assert "shufflevector <160" not in text


def test_loads_of_one_element_per_group_use_shuffles_of_two_registers():
    """LLVM lowers a shuffle of a longer vector element by element, and takes long."""
    body = """
        %w = mul i64 %i, 4
        %q = getelementptr float, ptr %a, i64 %w
        %v = load float, ptr %q
        store float %v, ptr %out.lane"""
    text = emit_text(body, a=np.zeros(128, "f4"), out=np.zeros(32, "f4"))
    assert text.count("load <8 x float>") == 16
    assert text.count("shufflevector <8 x float>") == 4 * 4 + 2  # and two join neighbours
    assert "load <32 x float>" not in text
    assert "shufflevector <32 x float>" not in text
