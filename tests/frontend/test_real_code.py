"""Test idioms of existing kernels, compiled and run."""

import numpy as np
import pytest

from metalbench import _core

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"


def run(text, name="f"):
    """Run kernel `name`, which fills `device float* out`, with four threads."""
    out = np.zeros(4, np.float32)
    device = _core.open("cpu")
    pipeline = device.compile(HEADER + text, macros={"__METAL_VERSION__": "400"}).pipeline(name)
    dispatch = _core.Dispatch(pipeline, {"out": out}, threads_in_grid=4, threads=4)
    device.run([dispatch])
    return out.tolist()


SIGNATURE = "kernel void f(device float* out, uint i [[thread_position_in_grid]])"


@pytest.mark.parametrize(
    ("declarations", "body", "expected"),
    [
        # Names that Metal has for other things.
        (
            "",
            "float sampler = 1, texture = 2, mesh = 3, ray = 4, command_buffer = 5; "
            "out[i] = sampler + texture + mesh + ray + command_buffer;",
            [15] * 4,
        ),
        # Constants at program scope.
        (
            "struct Item { int a; float2 b; };\n"
            "constant Item items[] = {{1, float2(2, 3)}, {4, {5, 6}}};\n"
            "constant constexpr float table[2][2] = {{1, 2}, {3, 4}};\n"
            "extern constant uint later[2];\nconstant uint later[2] = {7, 8};\n",
            "out[i] = items[i % 2].b.y + table[i / 2][i % 2] + later[i % 2];",
            [11, 16, 13, 18],
        ),
        # Lambdas, also constant ones and ones that know their arguments' types only when called.
        (
            "constant constexpr auto square = [](int x) constexpr { return x * x; };\n"
            "constant constexpr int nine = square(3);\n",
            "auto twice = [&](auto x) { return x + x + i; }; out[i] = twice(nine);",
            [18, 19, 20, 21],
        ),
        # A template of the kernel's own where Metal has functions of that name.
        (
            "template <typename T> T sign(T x) { return T(42); }\n"
            "template <typename T> T max(T a, T b) { return a; }\n"
            "template <typename T> T exp(T x) { return x; }\n",
            "out[i] = sign(1) + max(1, 2) + exp(3) + metal::max(1.0f, 2.0f);",
            [48] * 4,
        ),
        # Shapes of threadgroup memory.
        (
            "struct Row { float v[2]; void put(float x) threadgroup { v[0] = x; } };\n"
            "union Bits { float f; uint u; };\ntypedef threadgroup float* Pointer;\n"
            "float first(threadgroup float (&a)[4]) { return a[0]; }\n",
            "threadgroup Row rows[4]; threadgroup Bits bits; threadgroup atomic_int count[2];\n"
            "threadgroup struct { float a; int b; } pair; float threadgroup after[4];\n"
            "alignas(16) threadgroup float aligned[4]; Pointer p = aligned;\n"
            "if (i == 0) { bits.u = 0x40000000; pair.b = 5; after[0] = 1;\n"
            "  atomic_store_explicit(&count[1], 0, memory_order_relaxed); }\n"
            "rows[i].put(i); p[i] = i + 1; threadgroup_barrier(mem_flags::mem_threadgroup);\n"
            "atomic_fetch_add_explicit(&count[1], 1, memory_order_relaxed);\n"
            "threadgroup_barrier(mem_flags::mem_threadgroup);\n"
            "out[i] = rows[3 - i].v[0] + bits.f + pair.b + first(aligned) + after[0]\n"
            "  + atomic_load_explicit(&count[1], memory_order_relaxed);",
            [16, 15, 14, 13],
        ),
        # Control flow and initialisation.
        (
            "",
            "float x = 0;\n#pragma unroll\nfor (int k = 0; k < 3; ++k) x += k;\n"
            '_Pragma("clang loop unroll(full)") for (int k = 0; k < 2; ++k) x += k;\n'
            "if (i <= 1) x += 10;\n"
            "float3 a = {1, 2}; uint4 b = {1u}; float2 c{3}; float4 d = (float4)2;\n"
            "switch (i) { case 0: x += a.z; break; case 1: x += b.x; [[fallthrough]];\n"
            "  default: x += c.y + d.w; }\nout[i] = x;",
            [14, 20, 9, 9],
        ),
        # How often a loop is unrolled, from macros.
        (
            "#define TIMES 2\n#define FOUR (2 * TIMES)\n",
            "float x = 0;\n#pragma unroll(FOUR)\nfor (int k = 0; k < 4; ++k) x += k;\n"
            "#pragma unroll TIMES\nfor (int k = 0; k < 4; ++k) x += k;\n"
            "#pragma clang loop unroll_count(FOUR)\nfor (int k = 0; k < 4; ++k) x += k;\n"
            "out[i] = x;",
            [18] * 4,
        ),
        # Lists of any length, and shifts by counts of another type.
        (
            "struct List { float sum = 0;\n"
            "  List(initializer_list<float> all) { for (float x : all) sum += x; } };\n",
            "List list = {1, 2, 3}; int2 s = int2(1) << uint2(3, 4); s >>= uint2(1);\n"
            "out[i] = list.sum + s.x + s.y;",
            [18] * 4,
        ),
        # Names in metal that the headers have, too, defined by the source itself.
        (
            "namespace metal {\n"
            "constexpr constant metal::thread_scope thread_scope_system =\n"
            "    static_cast<thread_scope>(thread_scope_device + 1);\n"
            "enum memory_coherence { memory_coherence_none, memory_coherence_device = 20 };\n"
            "template <typename T> struct is_void { static constant constexpr int value = 300; };\n"
            "using ulong4 = float4; constexpr constant int x = 0; }\n",
            "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, "
            "thread_scope_system);\n"
            "float2 v = {1, 2}; metal::ulong4 w = float4(0.5f);\n"
            "out[i] = thread_scope_system + metal::memory_coherence_device + is_void<void>::value\n"
            "  + v.x + w.w - thread_scope_device + metal::x;",
            [322.5] * 4,
        ),
        # Limits of vectors.
        ("", "float4 m = numeric_limits<float4>::lowest(); out[i] = m.w < -1e38;", [1] * 4),
    ],
)
def test_a_kernel_in_the_style_of_libraries_runs(declarations, body, expected):
    assert run(f"{declarations}{SIGNATURE} {{\n{body}\n}}") == expected


def test_a_kernel_with_c_linkage():
    assert run(f'extern "C" {SIGNATURE} {{ out[i] = i; }}') == [0, 1, 2, 3]


def test_unused_kernels_may_be_unsupported():
    text = f"""using namespace raytracing;
    kernel void other(device float* out) {{
      #pragma unroll
      for (;;) unknown(out);
    }}
    vertex float4 v(uint i [[vertex_id]]) {{ return float4(i); }}
    fragment half4 p(float4 at [[position]]) {{ discard_fragment(); return half4(at); }}
    [[kernel]] void rays(instance_acceleration_structure s, device float* out) {{}}
    {SIGNATURE} {{ out[i] = 2; }}"""
    assert run(text) == [2] * 4


def test_lower_keeps_other_kernels_that_are_mentioned():
    text = f"""template <typename T> kernel void other(device T* out) {{ out[0] = 1; }}
    typedef decltype(other<float>) Other;
    template [[host_name("a")]] kernel Other other<float>;
    {SIGNATURE} {{ out[i] = 2; }}"""
    assert run(text) == [2] * 4


@pytest.mark.parametrize("name", ["float_one", "float_two"])
def test_templates_of_one_name_differ_by_their_parameters(name):
    text = """template <typename T>
    kernel void k(device T* out, uint i [[thread_position_in_grid]]) { out[i] = 1; }
    template <typename T> kernel void k(device T* out, uint i [[thread_position_in_grid]],
        uint n [[threads_per_grid]]) { out[i] = n; }
    template [[host_name("float_one")]] kernel void k<float>(device float* out, uint i);
    template [[host_name("float_two")]] kernel void k<float>(device float*, uint, uint);"""
    assert run(text, name) == [1 if name == "float_one" else 4] * 4
