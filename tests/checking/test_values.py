"""Values that were never given, through every operation: what is written, and what is not used."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalbench.checking.check import check

HEAD = """\
// buffer: x {dtype} (64) {content}
// buffer: y float32 ({size}) output
// dispatch: k threads_in_grid=(64) threads=(64)
#include <metal_stdlib>
using namespace metal;
struct Pair {{ int first; int second; }};
static int twice(int z) {{ return z * 2; }}
static int2 both(int z) {{ return int2(z, 3) + 1; }}
static int loop(int z) {{ int w = z; for (int i = 0; i < 3; ++i) w += z; return w; }}
static int limit(int z) {{ if (z > 100) z = 100; return z; }}
kernel void k(device const {type}* x, device float* y, uint t [[thread_index_in_threadgroup]]) {{
"""
# Variables that only some threads set.
INTEGERS = (
    "int a; if (x[t] > 0) a = 5; long b; if (x[t] > 0) b = 5; short c; if (x[t] > 0) c = 5; "
    "int2 v; if (x[t] > 0) v = int2(5); int one[2] = {1, 2};"
)
FLOATS = "float a; if (x[t] > 0) a = 5; float m; int e;"

SIGNED = (
    *("a + 1", "a - 1", "a * 3", "-a", "a += 2, a", "a -= 2, a", "a *= 2, a", "a++", "++a", "~a"),
    *("b + 1", "b - 1", "b * 3", "-b", "int(c) + 1", "c * 2", "-c", "(v + 1).x", "(v * 2).y"),
    *("(-v).x", "abs(-a)", "one[0] + a", "Pair{a, 1}.first + 1", "short(a) + short(1)"),
    *("char(a) * char(3)", "long(a) * 3", "(int2(a) * 3 + int2(1)).y", "twice(a)", "both(a).x"),
    *("loop(a)", "limit(a)"),
)
OTHERS = (
    *("a << 2", "a >> 1", "3 << (a & 3)", "a / 3", "a % 3", "a /= 3, a", "b / 3", "a & 6", "a | 1"),
    *("a ^ 3", "a > 3", "a == 3", "!a", "a > 2 && a < 9", "a > 2 ? 1 : 2", "(v > 3).x"),
    *("min(a, 3)", "max(a, 3)", "clamp(a, 1, 3)", "abs(a)", "select(a, 3, a > 2)"),
    *("select(1, 2, bool(a))", "popcount(a)", "clz(a)", "ctz(a)", "mulhi(a, 3)", "mad24(a, 2, 3)"),
    *("madsat(a, 2, 3)", "addsat(a, 3)", "subsat(a, 3)", "hadd(a, 3)", "rotate(a, 3)"),
    *("extract_bits(a, 1, 4)", "insert_bits(3, a, 1, 2)", "reverse_bits(a)", "absdiff(a, 3)"),
    *("(int2(a) << 1).y", "uint(a) * 3u", "float(a)", "half(a)", "int(float(a))", "long(float(a))"),
    *("short(half(a))", "uint(float(a))", "int2(float2(a)).x", "as_type<float>(a)"),
    *("all(int2(a) > 3)", "any(int2(a) > 3)", "min3(a, 1, 2)", "median3(a, 1, 2)"),
)
FLOATING = (
    *("a + 1", "a * 3", "-a", "a / 3", "a > 3", "a == 3", "a += 2, a", "a > 3 ? a : 1"),
    *("isnan(a)", "isinf(a)", "signbit(a)", "sin(a)", "exp(a)", "log(a)", "sqrt(a)", "rsqrt(a)"),
    *("pow(a, 2.0f)", "fma(a, 2.0f, 3.0f)", "min(a, 3.0f)", "max(a, 3.0f)", "clamp(a, 1.0f, 3.0f)"),
    *(
        "saturate(a)",
        "abs(a)",
        "floor(a)",
        "round(a)",
        "trunc(a)",
        "fract(a)",
        "mix(a, 1.0f, 0.5f)",
    ),
    *("step(a, 3.0f)", "sign(a)", "copysign(a, 1.0f)", "atan2(a, 1.0f)", "int(a)", "uint(a)"),
    *(
        "short(a)",
        "char(a)",
        "long(a)",
        "half(a)",
        "bfloat(a)",
        "as_type<int>(a)",
        "length(float2(a))",
    ),
    *("dot(float4(a), float4(1))", "(float4(a) * 2).z", "select(a, 1.0f, a > 2)", "modf(a, m)"),
)
SIMD = (
    *("simd_sum(a)", "simd_max(a)", "simd_shuffle_xor(a, 1)", "simd_prefix_inclusive_sum(a)"),
    *("simd_broadcast(a, 0)", "quad_sum(a)", "int(ulong(simd_ballot(a > 3)))"),
)


def found_in(folder: Path, operations, kind: str, end: str) -> list[tuple[str, str]]:
    """Return kind and operation of every finding; each operation has a line."""
    floats = kind == "float"
    head = HEAD.format(
        dtype="float32" if floats else "int32",
        content="normal" if floats else "integers -100 100",
        size=64 * len(operations),
        type=kind,
    )
    declared = FLOATS if floats else INTEGERS
    lines = [
        f"  {{ {declared} float r = float(({each})); {end.replace('AT', f'{64 * at} + t')} }}"
        for at, each in enumerate(operations)
    ]
    path = folder / "k.metal"
    path.write_text(head + "\n".join(lines) + "\n}\n")
    first = head.count("\n") + 1
    return [
        (each.kind, operations[each.frame.line - first] if each.frame else "no place")
        for each in check(path, tools="init").found
    ]


# An `if` statement on such a value is reported where it branches, whatever becomes of the result.
BRANCHING = ("limit(a)",)
WRITTEN = "y[AT] = r;"
NOT_USED = "if (x[t] > 0) y[AT] = r; else y[AT] = 0;"
CASES = [("int", SIGNED), ("int", OTHERS), ("float", FLOATING)]


@pytest.mark.parametrize(("kind", "operations"), [*CASES, ("int", SIMD)])
def test_check_finds_the_use_of_an_uninitialised_value(tmp_path, kind, operations):
    found = found_in(tmp_path, operations, kind, WRITTEN)
    assert {each for each, _ in found} == {"uninitialised"}
    assert [each for each in operations if each not in dict(map(reversed, found))] == []


@pytest.mark.parametrize(("kind", "operations"), CASES)
def test_check_ignores_unused_results(tmp_path, kind, operations):
    unused = [each for each in operations if each not in BRANCHING]
    assert found_in(tmp_path, unused, kind, NOT_USED) == []


REDUCTION = """\
// buffer: x {dtype} (16) {content}
// buffer: y {dtype} (1) output
// dispatch: k threadgroups=(1) threads=(16)
#include <metal_stdlib>
using namespace metal;
kernel void k(device const T* x, device T* y, uint t [[thread_index_in_threadgroup]]) {{
  T v = x[t];
  for (ushort s = 8; s > 0; s /= 2) {{ {body} }}
  if ({condition}) y[0] = v;
}}
"""
TYPES = {
    "float": ("float32", "normal"),
    "int": ("int32", "integers -5 5"),
    "half": ("float16", "normal"),
}
BODIES = (
    "T o = simd_shuffle_down(v, s); v = o > v ? o : v;",
    "v = max(v, simd_shuffle_down(v, s));",
    "v = min(v, simd_shuffle_down(v, s));",
    "v += simd_shuffle_down(v, s);",
    "T o = simd_shuffle_down(v, s); v = select(v, o, o > v);",
    "T o = simd_shuffle_down(v, s); if (o > v) v = o;",
    "T o = simd_shuffle_down(v, s); if (o > v && o != 3) v = o;",
    "T o = simd_shuffle_down(v, s); if (o > v || o == 3) { v = o; }",
    "T o = simd_shuffle_down(v, s); v = o > v ? o : (o == v ? o : v);",
    "v = clamp(simd_shuffle_down(v, s), v, T(v + 1));",
    "v = abs(simd_shuffle_down(v, s)) + v;",
)


def reduction(folder: Path, kind: str, body: str, condition: str) -> Path:
    dtype, content = TYPES[kind]
    text = REDUCTION.format(dtype=dtype, content=content, body=body, condition=condition)
    path = folder / "k.metal"
    path.write_text(
        text.replace("T ", f"{kind} ").replace("T*", f"{kind}*").replace("T(", f"{kind}(")
    )
    return path


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("kind", TYPES)
def test_check_tracks_values_of_inactive_lanes(tmp_path, kind, body):
    assert check(reduction(tmp_path, kind, body, "t == 0")).found == ()
    (finding, *_) = check(reduction(tmp_path, kind, body, "t == 15")).errors
    assert finding.kind == "simdgroup"
    assert finding.frame.line == 8


@pytest.mark.parametrize(
    ("function", "is_used"),
    [
        ("simd_shuffle_xor(v, 16)", True),
        ("simd_shuffle(v, t + 16)", True),
        ("simd_shuffle_rotate_down(v, 8)", True),
        ("simd_shuffle_xor(v, 16)", False),
        ("simd_broadcast(v, 20)", False),
        ("simd_shuffle_and_fill_down(v, v, 1, 32)", True),
        ("simd_sum(v)", None),
        ("simd_max(v)", None),
        ("simd_shuffle_xor(v, 8)", None),
    ],
)
def test_check_reports_values_of_inactive_lanes_only_if_they_are_used(tmp_path, function, is_used):
    """None is for functions that ask for no inactive lane."""
    path = tmp_path / "k.metal"
    used = "y[t] = o;" if is_used in (True, None) else "y[t] = v; v = o;"
    path.write_text(f"""\
// buffer: x float32 (16) normal
// buffer: y float32 (16) output
// dispatch: k threadgroups=(1) threads=(16)
#include <metal_stdlib>
using namespace metal;
kernel void k(device const float* x, device float* y, ushort t [[thread_index_in_threadgroup]]) {{
  float v = x[t];
  float o = {function}; {used}
}}
""")
    found = check(path).errors
    assert [(each.kind, each.frame.line) for each in found] == (
        [("simdgroup", 8)] if is_used else []
    )


MATRICES = """\
// buffer: x float32 (64) normal
// buffer: y float32 (64) output
// dispatch: k threadgroups=(1) threads=({threads})
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;
kernel void k(device const float* x, device float* y, uint g [[simdgroup_index_in_threadgroup]]) {{
  simdgroup_float8x8 m;
  if (g == GROUP) {{
    simdgroup_load(m, x, 8);
    simdgroup_multiply(m, m, m);
    simdgroup_store(m, y, 8);
  }}
}}
"""


@pytest.mark.parametrize(
    ("threads", "group", "lines"),
    [(20, 0, 3), (31, 0, 3), (48, 1, 3), (48, 0, 0), (32, 0, 0), (1, 0, 3)],
)
def test_check_reports_matrices_of_a_partial_simdgroup(tmp_path, threads, group, lines):
    path = tmp_path / "k.metal"
    path.write_text(MATRICES.format(threads=threads).replace("GROUP", str(group)))
    found = check(path).errors
    assert [(each.kind, each.frame.line) for each in found] == [
        ("simdgroup", line) for line in (10, 11, 12)[:lines]
    ]
