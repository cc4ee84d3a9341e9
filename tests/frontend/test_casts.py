"""Test rewrite_casts: all forms of casts between half and bfloat."""

import numpy as np
import pytest

from metalbench import _core
from metalbench.msl.frontend.edits import Edits

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
FORMS = ["static_cast<{T}>({x})", "{T}({x})", "({T}){x}", "({T})({x})", "{T}({T}({x}))"]


def run(text, arrays, **options):
    device = _core.open("cpu")
    pipeline = device.compile(HEADER + text, **options).pipeline()
    _core.Device.run(
        device, [_core.Dispatch(pipeline, arrays, threads_in_grid=len(arrays["a"]), threads=8)]
    )


def bfloats(values):
    """The upper halves of float32 values that bfloat holds exactly."""
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("form", FORMS)
def test_half_to_bfloat_and_back(form):
    values = np.array([0.0, -1.5, 3.0, 1 / 128, 256.0, -0.75, 2.0, 1.0])
    a, b, c = values.astype(np.float16), np.zeros(8, np.uint16), np.zeros(8, np.float16)
    there, back = form.format(T="bfloat", x="a[i]"), form.format(T="half", x="there")
    text = f"""kernel void f(device half* a, device ushort* b, device half* c,
        uint i [[thread_position_in_grid]]) {{
      auto there = {there};
      b[i] = as_type<ushort>(there);
      auto back = {back};
      static_assert(is_same_v<decltype(there), bfloat> && is_same_v<decltype(back), half>);
      c[i] = back;
    }}"""
    run(text, {"a": a, "b": b, "c": c})
    np.testing.assert_array_equal(b, bfloats(values))
    np.testing.assert_array_equal(c, a)


@pytest.mark.parametrize("form", FORMS)
def test_a_template_converts_between_any_two_types(form):
    a, c = np.arange(8, dtype=np.float16), np.zeros(8, np.float16)
    cast = form.format(T="T", x="x")
    text = f"""typedef bfloat bfloat16_t;
    template <typename T, typename U> T to(U x) {{ return {cast}; }}
    kernel void f(device half* a, device half* c, uint i [[thread_position_in_grid]]) {{
      c[i] = to<half>(to<bfloat16_t>(to<float>(to<int>(to<bfloat16_t>(a[i])))));
    }}"""
    run(text, {"a": a, "c": c})
    np.testing.assert_array_equal(c, a)


def rewritten(source, text):
    from metalbench.msl.frontend.token_rewrites import rewrite_casts

    parsed = source(text)
    edits = Edits(parsed.tokens.source)
    rewrite_casts(parsed.tokens, parsed.declarations, parsed.aliases, edits)
    return edits.apply().splitlines()[-1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = (half)y * z;", "x = mb::cast<half>(y) * z;"),
        ("x = -(half)y.z[3](a)++ - 1;", "x = -mb::cast<half>(y.z[3](a)++) - 1;"),
        ("x = (half)-y + 1;", "x = mb::cast<half>(-y) + 1;"),
        ("x = (half)f<int, 3>(y) < 2;", "x = mb::cast<half>(f<int, 3>(y)) < 2;"),
        ("x = (half)y < 2;", "x = mb::cast<half>(y) < 2;"),
        ("x = a > (half)1.0f;", "x = a > mb::cast<half>(1.0f);"),
        ("return (half)(y)[2];", "return mb::cast<half>((y)[2]);"),
        ("x = (half)(float)y + 1;", "x = mb::cast<half>((float)y) + 1;"),
        ("x = (half)(float)(int)y * 2;", "x = mb::cast<half>((float)(int)y) * 2;"),
        ("x = (half)(bfloat)y * 2;", "x = mb::cast<half>(mb::cast<bfloat>(y)) * 2;"),
        ("if (a) (*p)(half);", "if (a) (*p)(half);"),
        ("x = f(y)(half) * 2;", "x = f(y)(half) * 2;"),
        ("x = (half)(y) + 1;", "x = mb::cast<half>((y)) + 1;"),
        ("x = half(y + 1);", "x = mb::cast<half>(y + 1);"),
        ("x = half();", "x = half();"),
        ("x = sizeof(half) + 1;", "x = sizeof(half) + 1;"),
        ("half (*p)[3]; half(&r)[2] = *q;", "half (*p)[3]; half(&r)[2] = *q;"),
    ],
)
def test_rewrite_casts_ends_at_the_operand(source, before, after):
    text = f"void f() {{\n{before} }}"
    assert rewritten(source, text) == f"{after} }}"


@pytest.mark.parametrize(
    "alias",
    [
        "typedef bfloat bfloat16_t; typedef half float16_t;",
        "using bfloat16_t = bfloat; using float16_t = half;",
    ],
)
def test_rewrite_casts_follows_aliases(source, alias):
    text = f"{alias}\nx = (bfloat16_t)y + (float16_t)(y);"
    assert rewritten(source, text) == "x = mb::cast<bfloat16_t>(y) + mb::cast<float16_t>((y));"


def test_rewrite_casts_to_aliases():
    text = """typedef half float16_t; typedef bfloat bfloat16_t; typedef bfloat16_t narrow;
    kernel void f(device half* a, device half* c, uint i [[thread_position_in_grid]]) {
      c[i] = (float16_t)(bfloat16_t)a[i] + (float16_t)((bfloat16_t)1.0h) + (half)(narrow)a[i];
    }"""
    a, c = np.arange(8, dtype=np.float16), np.zeros(8, np.float16)
    run(text, {"a": a, "c": c})
    np.testing.assert_array_equal(c, a + 1 + a)
