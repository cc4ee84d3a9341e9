"""Test lower with small sources: the text between the preamble and the entry points."""

import pytest

from metalbench._core import CompileError
from metalbench.msl.frontend.lower import lower


def body(source, text, name="f", **constants):
    code = lower(source(text), name, constants).code
    end = code.text.index('\n# 1 "<metalbench>"', code.source_start)
    lines = code.text[code.source_start : end].splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip() and not line.startswith("#"))


KERNEL = "static inline __attribute__((always_inline)) "


def test_address_spaces_become_spaces(source):
    assert (
        body(source, "kernel void f(device float* a, constant uint& n, threadgroup int* t) {}")
        == KERNEL + "       void f(       float* a, const    uint& n,             int* t) {}"
    )


@pytest.mark.parametrize(
    ("text", "lowered"),
    [
        ("const constant int* p = q;", "const          int* p = q;"),
        ("auto p = (constant T*)q;", "auto p = (const    T*)q;"),
        ("foo<device T*, threadgroup T*>(x);", "foo<       T*,             T*>(x);"),
        (
            "foo<device float, threadgroup T>(x);",
            "foo<__attribute__((opencl_global_device)) float, __attribute__((opencl_local)) T>(x);",
        ),
        ("threadgroup T* p = q;", "            T* p = q;"),
        ("threadgroup T& r = *q;", "            T& r = *q;"),
        ("half h = 1.0h + 2h - .5H;", "half h = half(1.0f) + half(2.f) - half(.5f);"),
        ("bfloat b = 1.5bf * 3e2bf;", "bfloat b = bfloat(1.5f) * bfloat(3e2f);"),
        ("int i = 0xbf + 0x1f + 0xAF;", "int i = 0xbf + 0x1f + 0xAF;"),
        ("volatile coherent(system) device int* p = q;", "volatile           int* p = q;"),
        ("[[unroll]] for (;;) {}", "           for (;;) {}"),
    ],
)
def test_statements(source, text, lowered):
    found = body(source, f"kernel void f(device int* a) {{\n{text}\n}}").splitlines()[1]
    assert found.split() == lowered.split()


def test_threadgroup_variables_refer_to_the_arena(source):
    text = "threadgroup float x[2][N], m;\nthreadgroup atomic_uint c;\n"
    text = f"kernel void f(device int* a) {{\n{text}}}"
    found = body(source, text).splitlines()[1:3]
    assert [" ".join(line.split()) for line in found] == [
        "typedef float mbT1_x[2][N], mbT1_m; MB_THREADGROUP(mbT1_x, x) MB_THREADGROUP(mbT1_m, m)",
        "typedef atomic_uint mbT2_c; MB_THREADGROUP(mbT2_c, c)",
    ]


def test_threadgroup_variables_with_initializers_refer_to_the_arena(source):
    text = "threadgroup float x[32] = {0, 1}, y{2}, z = N < 2 ? 1 : 2;\nthreadgroup T* p = x + 1;\n"
    text = f"kernel void f(device int* a) {{\n{text}}}"
    first, second = body(source, text).splitlines()[1:3]
    assert " ".join(first.split()) == (
        "typedef float mbT1_x[32] , mbT1_y , mbT1_z ; MB_THREADGROUP(mbT1_x, x) "
        "MB_THREADGROUP(mbT1_y, y) MB_THREADGROUP(mbT1_z, z)"
    )
    assert second.split() == ["T*", "p", "=", "x", "+", "1;"]


def test_threadgroup_variables_keep_alignment_and_template_types(source):
    text = "kernel void f(device int* a) {\nalignas(16) threadgroup vec<T, 4> x[N < 2 ? 1 : N];\n}"
    assert " ".join(body(source, text).splitlines()[1].split()) == (
        "typedef vec<T, 4> mbT1_x[N < 2 ? 1 : N]; alignas(16) MB_THREADGROUP(mbT1_x, x)"
    )


def test_only_the_instantiation_asked_for_remains(source):
    text = """template <typename T> [[kernel]] void g(device T* a) {}
template [[host_name("f")]] [[kernel]] decltype(g<half>) g<half>;
template [[host_name("h")]] [[kernel]] decltype(g<float>) g<float>;"""
    assert body(source, text).splitlines()[1:] == [
        "static constexpr auto& mb_kernel_function = g<half>;"
    ]


def test_an_instantiation_by_signature_picks_its_overload(source):
    text = """template <typename T> kernel void g(device T* a, constant T& b) {}
template [[host_name("f")]] kernel void g(device half* a, constant half& b);"""
    assert body(source, text).splitlines()[1] == (
        "static constexpr void (&mb_kernel_function)(       half* a, const    half& b) = g;"
    )


def test_function_constants_are_literals(source):
    text = """constant bool b [[function_constant(0)]];
constant uint u [[function_constant(1)]];
constant half h [[function_constant(2)]];
constant float o [[function_constant(3)]];
constant float d = is_function_constant_defined(o) ? o : 2.0f;
kernel void f(device int* a) { a[b] = u * h * d; }"""
    assert body(source, text, b=True, u=2**32 - 1, h=0.1).splitlines()[:5] == [
        "static constexpr bool b = true;",
        "static constexpr uint u = static_cast<uint>(4294967295ull);",
        "static constexpr half h = static_cast<half>(0.1);",
        "static constexpr float o = float();",
        "const    float d = (false) ? o : 2.0f;",
    ]


@pytest.mark.parametrize("value", [-1, 2**32, 1.5])
def test_function_constants_must_fit_their_type(source, value):
    text = "constant uint u [[function_constant(1)]]; kernel void f(device uint* a) { *a = u; }"
    with pytest.raises(
        CompileError, match=r"\[f\] constant u: expected uint, got .*; give an integer"
    ):
        body(source, text, u=value)


def test_other_functions_become_inline(source):
    text = "float g(float x) { return x; }\nstatic int h() { return 1; }\n"
    text += "kernel void f(device int* a) {}"
    assert body(source, text).splitlines()[:2] == [
        "inline float g(float x) { return x; }",
        "static int h() { return 1; }",
    ]


def test_define_swizzles_of_used_swizzles(source):
    text = "kernel void f(device float4* a) { a[0].xy = a[1].wz; a->zzx = a->rgb; float r = a->r; }"
    prologue = lower(source(text), "f", {}).code.text
    assert "#define MB_SWIZZLES_2 MB_P1(r,x) MB_P2(xy,x,y)\n" in prologue
    assert (
        "#define MB_SWIZZLES_3 MB_P1(r,x) MB_P3(rgb,x,y,z) MB_P2(xy,x,y) MB_R3(zzx,z,z,x)\n"
        in prologue
    )
    assert "MB_P2(wz,w,z)" in prologue.split("MB_SWIZZLES_4")[1]


def test_lower_keeps_line_numbers(source):
    text = """kernel void f(device int* a
  [[buffer(0)]]) {
  threadgroup float x[2],
     y;
  a[0] = here;
}"""
    code = lower(source(text), "f", {}).code
    own = code.text[code.source_start :]
    before = own[: own.index("here")]
    marker = before.rindex("# 1 ")
    assert before.count("\n", before.index("\n", marker)) == 5


def test_every_character_knows_its_origin(source):
    text = "kernel void f(device int* a) { half h = 1.0h; a[0] = last; }"
    parsed = source(text)
    code = lower(parsed, "f", {}).code
    own = code.text[code.source_start :]
    origin = code.edits.map_to_source(own.index("last"))
    assert parsed.tokens.source[origin : origin + 4] == "last"


def test_casts_between_half_formats_go_through_ours(source):
    text = "kernel void f(device half* a, device bfloat* b) { *b = static_cast<bfloat>(*a); }"
    assert "mb::cast<bfloat>(*a)" in body(source, text)
    other = body(source, text.replace("<bfloat>", "<device float*>"))
    assert "static_cast<float*>" in "".join(other.split(" "))


@pytest.mark.parametrize(
    ("text", "word", "got"),
    [
        ("float g(float kernel) { return 2; }", "kernel", ")"),
        ("float g(float x, float thread) { return x; }", "thread", ")"),
        ("float g(int kernel, int y) { return y; }", "kernel", ","),
        ("float g(float x) { return x * kernel + 1; }", "kernel", "+"),
        ("float g(float x) { return x - thread; }", "thread", ";"),
        ("float g(float x) { int kernel = 1; return x; }", "kernel", "="),
        ("float g(float x) { int thread[2]; return x; }", "thread", "["),
        ("struct S { int kernel; };", "kernel", ";"),
        ("struct S { int object_data; };", "object_data", ";"),
        ("float g(float x) { return ray_data ? x : 1; }", "ray_data", "?"),
    ],
)
def test_keywords_of_metal_are_not_names(source, text, word, got):
    text = f"{text}\nkernel void f(device int* a) {{}}"
    message = f"kernel.metal:1:.*: error: `{word}` is a keyword of Metal: .*got `\\{got}`"
    with pytest.raises(CompileError, match=message):
        lower(source(text), "f", {})


@pytest.mark.parametrize(
    ("text", "lowered"),
    [
        ("struct [[gnu::aligned(16)]] S { int a; };", "struct [[gnu::aligned(16)]] S { int a; };"),
        ("struct [[gnu::packed, deprecated]] S {};", "struct [[gnu::packed]] S {};"),
        ("int a [[maybe_unused]];", "int a ;"),
        ("float v [[gnu::vector_size(16)]];", "float v [[gnu::vector_size(16)]];"),
    ],
)
def test_lower_keeps_attributes_of_types(source, text, lowered):
    found = body(source, f"kernel void f(device int* a) {{\n{text}\n}}").splitlines()[1]
    assert found.split() == lowered.split()
