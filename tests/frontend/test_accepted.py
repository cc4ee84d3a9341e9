"""Test sources that Metal's compiler accepts: they compile, and give the right values."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
SIGNATURE = "kernel void f(device float* x, uint i [[thread_position_in_grid]])"


def run(text: str, name: str = "f", threads: int = 32) -> list[float]:
    """Run a kernel on one SIMD-group, or fewer threads, over x[i] = i; return x."""
    x = np.arange(32, dtype=np.float32)
    pipeline = _core.open("cpu").compile(text).pipeline(name)
    dispatch = _core.Dispatch(pipeline, {"x": x}, threads_in_grid=threads, threads=threads)
    _core.open("cpu").run([dispatch])
    return x[:threads].tolist()


def run_body(body: str, declarations: str = "") -> list[float]:
    return run(f"{HEADER}{declarations}\n{SIGNATURE} {{\n{body}\n}}\n", threads=4)


# Loops with hints.
HINTED = {
    "nested": """for (int j = 0; j < 3; ++j) {
        FOR_UNROLL (short k = 0; k < 4; ++k) {
            FOR_UNROLL (short m = 0; m < 2; ++m) { s += simd_max(s) * 0.25f; }
        }
        if (s > 500) break;
    }""",
    "without braces": """for (int j = 0; j < 3; ++j) {
        FOR_UNROLL (short k = 0; k < 4; ++k)
            FOR_UNROLL (short m = 0; m < 2; ++m)
                s += simd_max(s) * 0.25f;
        if (s > 500) break;
    }""",
    "body of another": """while (s < 30 && simd_any(s >= 1))
        FOR_UNROLL (short k = 0; k < 4; ++k)
#pragma unroll
            for (short m = 0; m < 2 && s < 30; ++m)
                s += simd_max(s);""",
    "do": """for (int j = 0; j < 3; ++j) {
#pragma unroll(2)
        do { s += simd_max(s); } while (s < 2);
        if (s > 50) break;
    }""",
    "range": """metal::array<float, 3> a = {1, 2, 3};
    for (int j = 0; j < 3; ++j) {
#pragma clang loop unroll(full)
        for (float v : a) { s += simd_max(v); }
        if (s > 50) break;
    }""",
    "branches": """for (;;) {
        if (s > 2)
#pragma unroll
            for (short k = 0; k < 4; ++k) s += simd_max(s);
        else if (s < 1)
            FOR_UNROLL (int k = 0; k < 2; ++k) { s += simd_max(s) + 1; }
        if (s > 40) break;
        s += 1;
    }""",
    "case": """for (;;) {
        switch (int(s) % 2) {
            case 1:
#pragma nounroll
                for (short k = 0; k < 4; ++k) s += simd_max(s);
                break;
            default: break;
        }
        if (s > 40) break;
        s += 1;
    }""",
    "attribute": """for (;;) {
        __attribute__((opencl_unroll_hint(4)))
        for (short k = 0; k < 4; ++k) { s += simd_max(s); }
        if (s > 40) break;
    }""",
    "two hints": """for (;;) {
#pragma clang loop unroll(full)
#pragma clang loop vectorize(disable)
        for (short k = 0; k < 4; ++k) { s += simd_max(s); }
        if (s > 40) break;
    }""",
}
_TEMPLATE = """
#define FOR_UNROLL _Pragma("clang loop unroll(full)") for
template <typename T> T g(T s) {
    BODY
    return s;
}
template <typename T> kernel void f(device T* x, uint i [[thread_position_in_grid]]) {
    x[i] = g(x[0] + 1);
}
template [[host_name("f")]] kernel void f<float>(device float*, uint);
"""


# The values of s, which starts as 1 and is the same in all lanes, so that simd_max(s) is s.
EXPECTED = {
    "nested": 1.25**24,
    "without braces": 1.25**24,
    "body of another": 32,
    "do": 8,
    "range": 19,
    "branches": 48,
    "case": 272,
    "attribute": 256,
    "two hints": 256,
}


@pytest.mark.parametrize("engine", ["vectors", "fibers"])
@pytest.mark.parametrize("name", HINTED)
def test_mark_loop_exits_keeps_hints_at_their_loops(monkeypatch, name, engine):
    monkeypatch.setenv("METALBENCH_ENGINE", engine)
    found = run(HEADER + _TEMPLATE.replace("BODY", HINTED[name]))
    np.testing.assert_allclose(found, [EXPECTED[name]] * 32, rtol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        "[[clang::optnone]] float g(float a) { return a + 1; }",
        "[[clang::minsize, gnu::used]] float g(float a) { return a + 1; }",
        '__attribute__((used, noinline, visibility("default"))) float g(float a) { return a + 1; }',
        "typedef enum __attribute__((enum_extensibility(closed))) : uint { A = 1 } E;\n"
        "float g(float a) { return a + A; }",
    ],
)
def test_attributes_of_emission_have_no_effect(function):
    assert run_body("x[i] = g(x[i]);", function) == [1, 2, 3, 4]


def test_read_max_threads_of_a_gnu_attribute():
    text = f"{HEADER}{SIGNATURE} __attribute__((max_total_threads_per_threadgroup(64))) {{ }}"
    assert _core.open("cpu").compile(text).pipeline("f").max_threads == 64


def test_integer_sequences():
    declarations = """
    template <int... I> int sum(integer_sequence<int, I...>) { int n[] = {I...}; return n[3]; }
    template <size_t... I> int last(metal::index_sequence<I...>) {
        size_t n[] = {I...};
        return n[sizeof...(I) - 1] + 10 * metal::index_sequence<I...>::size();
    }
    template <typename... T> int count(T...) { return last(index_sequence_for<T...>{}); }
    """
    body = (
        "x[i] = i == 0 ? sum(make_integer_sequence<int, 4>()) : "
        "i == 1 ? last(metal::make_index_sequence<3>()) : count(1, 2.0f, uchar(3), i);"
    )
    assert run_body(body, declarations) == [3, 32, 43, 43]


def test_overloads_of_relational_functions_with_packed_vectors():
    own = (
        "bool isequal(float3 a, float3 b) { return all(a == b); }\n"
        "float isnan(float3 a) { return 5; }\n"
    )
    body = (
        "device packed_float3* p = (device packed_float3*)x; packed_float3 q = p[0]; float r = 0; "
        "if (i == 0) r = isequal(q, float3(0, 1, 2)); if (i == 1) r = isequal(q, q); "
        "if (i == 2) r = isnan(q); if (i == 3) r = isequal(x[5], 5.0f); x[i + 8] = r;"
        "threadgroup_barrier(mem_flags::mem_device); x[i] = x[i + 8];"
    )
    assert run_body(body, own) == [1, 1, 5, 1]
    body = (
        "packed_float3 q = packed_float3(0, 1, 2); float3 v = float3(1); "
        "bool3 r = i == 0 ? isequal(q, v) : i == 1 ? isless(q, q) : i == 2 ? isless(q, 2.0f) "
        ": isfinite(q); x[i] = r.x + 2 * r.y + 4 * r.z;"
    )
    assert run_body(body) == [2, 0, 3, 7]


def test_a_byte_order_mark_is_skipped():
    assert run(f"\ufeff{HEADER}{SIGNATURE} {{ x[i] += 1; }}", threads=2) == [1, 2]


def test_replace_digraphs():
    text = (
        "%:include <metal_stdlib>\nusing namespace metal;\n%:define ONE 1\n"
        "struct S { float v; };\ntemplate <class T> float g(T a) { return a.v; }\n"
        "constant float t<:3:> = <%1, 2, 3%>;\n"
        "kernel void f(device float* x <:<:buffer(0):>:>, uint i <:<:thread_position_in_grid:>:>) "
        "<% x<:i:> = ONE + t<:i:> + g<::S>(S{1}); %>\n"
    )
    assert run(text, threads=3) == [3, 4, 5]


UNSUPPORTED = """
struct Holder { command_buffer commands [[id(0)]]; };
typedef struct { constant Holder* holder; } Outer;
struct Scene { primitive_acceleration_structure accel; float hit(float3 o) const { return o.x; } };
float shade(thread Scene& s, float3 o) { return s.hit(o); }
float shade(float o) { return o + 1; }
using trace_t = raytracing::intersector<raytracing::triangle_data>;
float trace(float3 o) { trace_t t; return o.x; }
float bounce(float3 o) { return trace(o); }
kernel void encode(constant Holder& h, uint i [[thread_position_in_grid]]) {
    render_command c(h.commands, i);
}
kernel void outer(constant Outer& h, device float* x) { x[0] = 1; }
kernel void rays(device float* x, uint i [[thread_position_in_grid]]) { x[i] = bounce(x[i]); }
kernel void plain(device float* x, uint i [[thread_position_in_grid]]) { x[i] = shade(x[i]); }
"""


def test_users_of_unsupported_declarations_are_removed_with_them():
    assert run(HEADER + UNSUPPORTED, "plain", threads=2) == [1, 2]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("encode", ":4:17: command_buffer: the cpu device has no indirect command buffers"),
        ("outer", ":4:17: command_buffer: the cpu device has no indirect command buffers"),
        ("rays", "raytracing: the cpu device has no ray tracing"),
    ],
)
def test_refuse_declaration_names_the_construct(name, said):
    library = _core.open("cpu").compile(HEADER + UNSUPPORTED)
    with pytest.raises(_core.Unsupported, match=r"\[") as caught:
        library.pipeline(name)
    assert said in str(caught.value)


PROGRAM_INPUTS = """
const uint gid [[thread_position_in_grid]];
uint lane [[thread_index_in_simdgroup]];
device float* constant out [[buffer(1)]];
struct S { uint a; uint get() const { return a + gid; } };
float later(float a);
template <typename T> T scaled(T x) { return x * T(gid) + T(lane); }
float both(void) { return scaled<float>(2) + scaled(1.0f); }
float shadow(uint gid) { return gid; }
float later(float a) { return a + gid; }
float local() { uint gid = 5; return gid; }
kernel void f(device float* x [[buffer(0)]]) {
    S s{1};
    out[gid] = both() + s.get() + later(1) + shadow(3) + local();
    x[gid] = out[gid];
}
template <typename T> kernel void t(device T* x) { x[gid] = scaled<T>(3); }
template [[host_name("signature")]] kernel void t<float>(device float*);
template [[host_name("deduced")]] kernel decltype(t<float>) t<float>;
kernel void own(device float* x, uint gid [[thread_position_in_grid]]) { x[gid] = gid + 1; }
"""


@pytest.mark.parametrize("checked", [False, True])
def test_pass_program_inputs(checked):
    device = _core.open("cpu")
    library = device.compile(HEADER + PROGRAM_INPUTS, checked=checked)
    x, out = np.zeros(4, np.float32), np.zeros(4, np.float32)
    buffers = {"x": x, "out": out}
    device.run([_core.Dispatch(library.pipeline("f"), buffers, threads_in_grid=4, threads=4)])
    assert out.tolist() == x.tolist() == [10, 17, 24, 31]
    for name, expected in {"signature": [0, 4], "deduced": [0, 4], "own": [1, 2]}.items():
        pipeline = library.pipeline(name)
        device.run([_core.Dispatch(pipeline, {"x": x}, threads_in_grid=2, threads=2)])
        assert x[:2].tolist() == expected


def test_a_macro_does_not_change_pragma_pack():
    text = (
        "#define pack(a) (a)\n#pragma pack(push, 1)\nstruct S { uchar a; uint b; };\n"
        f"#pragma pack(pop)\n{SIGNATURE} {{ x[i] = pack(sizeof(S)); }}\n"
    )
    assert run(HEADER + text, threads=2) == [5, 5]


@pytest.mark.parametrize(
    ("header", "exists"),
    [
        *((name, False) for name in ("tensor", "cooperative_tensor", "nothing")),
        *(
            (name, True)
            for name in """array atomic command_buffer common compute config geometric graphics
            imageblocks initializer_list integer interpolate limits logging math matrix mesh numeric
            pack packed quadgroup raytracing relational simdgroup simdgroup_matrix stdlib
            tessellation texture type_traits types uniform utility
            visible_function_table""".split()  # noqa: SIM905
        ),
    ],
)
def test_preprocess_finds_the_headers_of_metal(source, header, exists):
    text = f"#if __has_include(<metal_{header}>)\nvoid yes();\n#else\nvoid no();\n#endif\n"
    assert source(text).tokens.text[1] == ("yes" if exists else "no")


def test_names_of_glsl_are_free():
    declarations = "typedef float2 vec2;\nusing vec3 = float3;\ntypedef float4x4 mat4;\n"
    body = "vec2 a = vec2(1, 2); vec3 b = vec3(a, 3); mat4 m = mat4(2); x[i] = b.z + m[0].x;"
    assert run_body(body, declarations) == [5] * 4


def test_names_of_the_simd_headers():
    text = """
    #include <metal_stdlib>
    #include <simd/simd.h>
    using namespace metal;
    struct Uniforms { simd_float4x4 a; matrix_float3x3 b; vector_float3 c; simd::uint2 d; };
    kernel void f(device float* x, uint i [[thread_position_in_grid]]) {
        Uniforms u = {simd_float4x4(1), matrix_float3x3(2), vector_float3(3), simd::uint2(4)};
        simd_uint1 k = 5;
        x[i] = (u.a * simd_float4(1)).x + u.b[0].x + u.c.y + u.d.x + k;
    }
    """
    assert run(text, threads=1) == [15]


def test_aliases_of_mesh_shaders_are_removed():
    declarations = "using M = metal::mesh<float, void, 3, 1, metal::topology::triangle>;\n"
    body = "float mesh = i; bool b = mesh < 2; x[i] = b;"
    assert run_body(body, declarations) == [1, 1, 0, 0]
