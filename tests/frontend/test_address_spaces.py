"""Test overload resolution by address space: the argument selects the overload, as in Metal."""

from __future__ import annotations

import numpy as np
import pytest
from frontend.address_spaces import FUNCTIONS, HEADER, KERNEL, results

from metalbench import _core

LOCALS = "float x = 0; threadgroup float shared[8]; threadgroup float one;\n"


@pytest.mark.parametrize(
    ("thread", "threadgroup", "device", "constant"),
    [
        ("by(x)", "by(one)", "by(d[1])", "by(c[1])"),
        ("by(x)", "by(shared[1])", "by(*d)", "by(*c)"),
        ("at(&x)", "at(shared)", "at(d + 1)", "at(c)"),
        ("at(&x)", "at(dynamic)", "at(&d[1])", "at(&c[1])"),
    ],
)
def test_references_and_pointers(run_body, thread, threadgroup, device, constant):
    found = run_body("", LOCALS + results(thread, threadgroup, device, constant))
    assert found[:4] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "forward",
    [
        "template <typename P> int forward(P p) { return 10 * by(*p) + at(p); }",
        "template <typename P> int forward(P p) { auto q = p; return 10 * by(q[0]) + at(&q[0]); }",
        "template <typename P> int forward(P p) { auto& r = *p; return 10 * by(r) + at(&r); }",
        "template <typename P> struct Holder {"
        "  P p; int both() const { return 10 * by(*p) + at(p); } };"
        "template <typename P> int forward(P p) { return Holder<P>{p}.both(); }",
        "template <typename T> int same(T&& x) { return 10 * by(x) + at(&x); }"
        "template <typename P> int forward(P p) { return same(*p); }",
        "template <typename P> int inner(P p, int n) {"
        "  return n ? inner(p + 1, n - 1) : 11 * at(p); }"
        "template <typename P> int forward(P p) { return inner(p, 3); }",
        "template <typename P> int forward(P p) {"
        "  auto f = [&](auto q) { return 10 * by(*q) + at(q); }; return f(p); }",
        "int own(thread float* p) { return 10 * by(*p) + at(p); }"
        "int own(threadgroup float* p) { return 10 * by(*p) + at(p); }"
        "int own(device float* p) { return 10 * by(*p) + at(p) ; }"
        "int own(constant float* p) { return 10 * by(*p) + at(p); }"
        "template <typename P> int forward(P p) { return own(p); }",
    ],
)
def test_templates_forward_deduced_address_spaces(run_body, forward):
    body = LOCALS + results("forward(&x)", "forward(shared)", "forward(d)", "forward(c)")
    assert run_body(forward, body)[:4] == [11, 22, 33, 44]


def test_members_have_the_address_space_of_their_object(run_body):
    declarations = """
    struct Inner { float v[2]; }; struct Outer { Inner inner[2]; float x; };
    int both(thread const Inner& i) { return 1; } int both(threadgroup const Inner& i) { return 2; }
    """
    body = """threadgroup Outer o; threadgroup array<float, 4> a; threadgroup float m[2][3];
    threadgroup array<array<float, 2>, 2> nested; threadgroup float3x3 matrix; Outer own = {};
    """ + results(
        "by(o.x)",
        "by(o.inner[1].v[1])",
        "both(o.inner[1]) * 10 + both(own.inner[0])",
        "by(a[2]) * 10 + at(a.data())",
        "by(m[1][2]) * 10 + at(m[1])",
        "by(nested[1][1]) * 10 + by(nested.back().front())",
        "at(&matrix[1])",
        "by(own.inner[1].v[0])",
    )
    assert run_body(declarations, body) == [2, 2, 21, 22, 22, 22, 2, 1]


def test_constants_at_program_scope(run_body):
    declarations = """
    struct Pair { float a; float b; };
    constant float table[2][2] = {{1, 2}, {3, 4}};
    constant Pair pair = {5, 6};
    static constant constexpr float one = 1;
    template <typename T> struct Limits { static constexpr constant float most = 7; };
    """
    body = results("by(table[1][0])", "at(table[0])", "by(pair.b)", "by(one)", "int(table[1][1])")
    assert run_body(declarations, body)[:5] == [4, 4, 4, 4, 4]
    assert run_body(declarations, results("by(*d)", "int(Limits<int>::most)"))[:2] == [3, 7]


def test_pointers_between_spaces_and_back(run_body):
    declarations = """
    struct Views { device float* d; threadgroup float* t; };
    int each(thread const Views& v) { return 10 * by(*v.d) + by(*v.t); }
    """
    body = (
        LOCALS + "Views v = {d, shared}; float t[2] = {}, *p = t; threadgroup float a[2], *q = a;"
    )
    listed = results(
        "each(v)",
        "by(*p) * 10 + by(*q)",
        "at((device int*)d)",
        "at(reinterpret_cast<threadgroup uint*>(q))",
    )
    assert run_body(declarations, body + listed)[:4] == [32, 12, 3, 2]


def test_partial_specialisations(run_body):
    declarations = """
    template <typename T> struct Kind { static constexpr constant int value = 0; };
    template <typename T> struct Kind<thread T*> { static constexpr constant int value = 1; };
    template <typename T> struct Kind<threadgroup T*> { static constexpr constant int value = 2; };
    template <typename T> struct Kind<device T*> { static constexpr constant int value = 3; };
    template <typename T> struct Kind<constant T*> { static constexpr constant int value = 4; };
    template <typename P> int kind(P p) { return Kind<P>::value; }
    """
    body = LOCALS + results("kind(&x)", "kind(shared)", "kind(d)", "kind(c)", "kind(1)")
    assert run_body(declarations, body)[:5] == [1, 2, 3, 4, 0]


def test_array_parameters(run_body):
    declarations = """
    int sum(device const float a[2], constant float b[2][2]) { return a[1] + b[1][1]; }
    int sum(threadgroup const float a[2], constant float b[2][2]) { return 100; }
    """
    body = (
        LOCALS
        + "constant float (*b)[2] = (constant float (*)[2])c;"
        + results("sum(d, b)", "sum(shared, b)")
    )
    assert run_body(declarations, body)[:2] == [4, 100]


TILES = """
template <typename T, int R, int C> struct Shared { T data[R * C]; };
template <typename T, int R, int C> struct Registers { T data[R * C]; };
template <typename T> struct Rows { device T* data; int stride; };
template <typename R, typename T>
void load(thread R& to, threadgroup const T& from) {
  for (int i = 0; i < 64; ++i) to.data[i] = from.data[i];
}
template <typename R, typename T>
void load(thread R& to, thread const T& from) {
  for (int i = 0; i < 64; ++i) to.data[i] = 2 * from.data[i];
}
template <typename S, typename T>
void load(threadgroup S& to, thread const Rows<T>& from, uint lane) {
  for (int i = lane; i < 64; i += 32) to.data[i] = from.data[i / 8 * from.stride + i % 8];
}
kernel void product(device const float* a, device float* b, device float* y,
                    uint lane [[thread_index_in_simdgroup]]) {
  threadgroup Shared<float, 8, 8> left, right;
  load(left, Rows<float>{const_cast<device float*>(a), 8}, lane);
  load(right, Rows<float>{b, 8}, lane);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  Registers<float, 8, 8> l, r, twice;
  load(l, left); load(r, right); load(twice, r);
  for (uint i = lane; i < 64; i += 32) {
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += l.data[i / 8 * 8 + k] * twice.data[k * 8 + i % 8];
    y[i] = simd_shuffle(sum, ushort(lane));
  }
  simdgroup_float8x8 m; simdgroup_load(m, left.data, 8); simdgroup_store(m, y + 64, 8);
  simdgroup_load(m, b, 8); simdgroup_store(m, left.data, 8);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = lane; i < 64; i += 32) y[128 + i] = left.data[i];
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_a_library_of_tiles(checked):
    device = _core.open("cpu")
    pipeline = device.compile(HEADER + TILES, checked=checked).pipeline("product")
    a, b = np.random.default_rng(0).standard_normal((2, 8, 8)).astype(np.float32)
    y = np.zeros((3, 8, 8), np.float32)
    arguments = {"a": a, "b": b, "y": y}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=32, threads=32)])
    np.testing.assert_allclose(y[0], a.astype(float) @ (2 * b), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(y[1:], [a, b])


def test_conditional_operators_take_the_values_of_records(run_body):
    declarations = """struct Pair { int a, b; };
    template <bool which> int chosen(device const Pair* p, thread const Pair& own) {
      Pair q = which ? p[1] : own; return q.a;
    }
    """
    body = """Pair own = {7, 8}; threadgroup Pair shared[2]; shared[1] = own; shared[1].a = 9;
    constexpr int n = 5; device Pair* p = (device Pair*)d; p[1] = {5, 6};
    int i = 1, j = 0, *r = &i, *none = nullptr;
    (out[0] ? i : j) = 4;
    """ + results(
        "chosen<true>(p, own) * 10 + chosen<false>(p, own)",
        "Pair(i ? shared[1] : *p).a * 10 + (i ? p[1] : shared[0]).b",
        "by(i ? d[1] : d[2]) * 10 + at(i ? d : nullptr)",
        "j",
        "i ? j ? 1 : own.b : p->a",
        "*(i ? r : none)",
        "int(uint{i ? n : 3u})",
    )
    assert run_body(declarations, body)[:7] == [57, 96, 33, 4, 1, 1, 5]


def test_kernels_made_of_templates(run_body):
    declarations = """
    template <typename T, typename P> kernel void made(device int* out, device T* d, constant T* c,
        threadgroup T* dynamic [[threadgroup(0)]]) {
      P p = nullptr; out[0] = at(dynamic); out[1] = at(p); out[2] = at(d); out[3] = at(c);
    }
    template [[host_name("one")]] kernel decltype(made<float, threadgroup float*>)
        made<float, threadgroup float*>;
    template [[host_name("two")]] kernel void made<float, device float*>(device int*, device float*,
        constant float*, threadgroup float*);
    """
    assert run_body(declarations, "", "one")[:4] == [2, 2, 3, 4]
    assert run_body(declarations, "", "two")[:4] == [2, 3, 3, 4]


def test_a_finding_names_the_line():
    text = f"""{HEADER}struct S {{ float v[2];
      float get(int i) const {{ return 0; }}
      float get(int i) const device {{
        int more = i;
        return v[more]; }} }};
    kernel void f(device S* s, device float* out) {{ out[0] = s->get(7); }}"""
    device = _core.open("cpu")
    pipeline = device.compile(text, filename="my.metal", checked=True).pipeline("f")
    arguments = {"s": np.zeros(2, np.float32), "out": np.zeros(1, np.float32)}
    with pytest.raises(_core.KernelFault, match=r"my\.metal:7"):
        device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=1, threads=1)])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "half h = 1; out[0] = by(h) + own(*d);",
            r"own\(\*d\)|no matching function for call to 'own'",
        ),
        (
            "threadgroup float* p = d; out[0] = by(*p);",
            r"my\.metal:15:20: error: .*'threadgroup float \*' with an .* 'device float \*'",
        ),
        (
            "constant float* p = d; out[0] = by(*p);",
            r"'const constant float \*' with an lvalue of type 'device float \*'",
        ),
        (
            "float x = 0; out[0] = by(1) + own(x);",
            r"'own'; address space mismatch in argument 1 \('thread float'\)",
        ),
    ],
)
def test_a_call_without_overload_is_reported_with_metals_address_spaces(body, message):
    declarations = (
        "int own(threadgroup float& x) { return 2; } int own(constant float& x) { return 4; }"
    )
    text = f"{HEADER}{FUNCTIONS}{declarations}\n{KERNEL}\n{body}\n}}\n"
    with pytest.raises(_core.CompileError, match=message) as caught:
        _core.open("cpu").compile(text, filename="my.metal").pipeline("f")
    assert "__" not in str(caught.value)
