"""Test that constructs which Metal's compiler refuses are refused in its words."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from metalbench import _core
from metalbench._core import CompileError
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import source_options
from metalbench.msl import engine
from metalbench.task.dtypes import dtype

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
CASES = tomllib.loads(Path(__file__).with_name("language_rules.toml").read_text())
REFUSED = {case["name"]: case for case in CASES["refuse"]}
ACCEPTED = {case["name"]: case for case in CASES["accept"]}
THREAD_LIMIT = "max_total_threads_per_threadgroup"
TO_TYPES = f"'{THREAD_LIMIT}' attribute cannot be applied to types"
POSITIONS = (
    "expecting input declarations with either all scalar types or all vector types with the same "
    "number of elements"
)
PROGRAM_SCOPE = "program scope variable must reside in constant address space"
SPACE = "type must have explicit address space qualifier"
PLAIN_KERNEL = "kernel void f(device float* x, uint i [[thread_position_in_grid]])"
STATIC = "variables in function scope cannot be declared static"
AUTOMATIC = "automatic variable qualified with an address space"
LAMBDA = "lambda expressions are not supported in Metal"


def kernel(body: str = "x[i] = 1;", before: str = "", parameters: str = "") -> str:
    """Return a kernel `f` with these statements and parameters, and declarations before it."""
    more = f", {parameters}" if parameters else ""
    signature = f"kernel void f(device float* x, uint i [[thread_position_in_grid]]{more})"
    return f"{before}\n{signature} {{\n{body}\n}}\n"


def build(text: str, version: str = "310") -> engine.CompiledKernel:
    program = engine.parse(HEADER + text, "k.metal", {"__METAL_VERSION__": version})
    return engine.build(program, "f")


def read_refusal(text: str, version: str = "310") -> str:
    with pytest.raises(CompileError) as caught:
        build(text, version)
    return str(caught.value)


@pytest.mark.parametrize("name", REFUSED)
def test_recorded_refusals_are_repeated(name):
    case = REFUSED[name]
    if case.get("when") == "pipeline":
        library = _core.open("cpu").compile(HEADER + case["code"], filename="k.metal")
        with pytest.raises(CompileError) as caught:
            library.pipeline("f")
        assert case["apple"] in str(caught.value)
    else:
        assert f"error: {case['apple']}" in read_refusal(case["code"])


@pytest.mark.parametrize("name", ACCEPTED)
def test_recorded_acceptances_are_repeated(name):
    build(ACCEPTED[name]["code"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"kernel void f(device int* x) [[{THREAD_LIMIT}(64)]] {{}}", TO_TYPES),
        (f"[[kernel]] void f(device int* x) [[{THREAD_LIMIT}(32 * 2)]] {{}}", TO_TYPES),
        (f"[[kernel]] void f(device int* x)\n\n  [[{THREAD_LIMIT}(64)]]\n{{}}", TO_TYPES),
    ],
)
def test_misplaced_thread_limits_are_refused(text, message):
    said = read_refusal(text)
    assert f"error: {message}; " in said
    assert f"[[kernel, {THREAD_LIMIT}(" in said


@pytest.mark.parametrize(
    "text",
    [
        f"[[kernel, {THREAD_LIMIT}(64)]] void f(device int* x) {{}}",
        # Kernels that were timed on an M1 Pro begin like this (vicgalle/metal-sci-kernels).
        f"[[{THREAD_LIMIT}(64)]] kernel void f(device int* x) {{}}",
        f'[[host_name("f"), {THREAD_LIMIT}(64)]] kernel void g(device int* x) {{}}',
        f"[[{THREAD_LIMIT}(64), kernel]] void f(device int* x) {{}}",
        f"[[kernel]] [[{THREAD_LIMIT}(64)]] void f(device int* x) {{}}",
        f"kernel [[{THREAD_LIMIT}(64)]] void f(device int* x) {{}}",
        f"kernel void f(device int* x) __attribute__(({THREAD_LIMIT}(64))) {{}}",
        f"__attribute__(({THREAD_LIMIT}(64))) kernel void f(device int* x) {{}}",
        f"constant uint n = 64;\n[[kernel, {THREAD_LIMIT}(n)]] void f(device int* x) {{}}",
        f"template <int n> [[kernel, {THREAD_LIMIT}(n)]] void g(device int* x) {{}}\n"
        'template [[host_name("f")]] [[kernel]] decltype(g<64>) g<64>;',
    ],
)
def test_thread_limits_in_their_place_are_effective(text):
    assert build(text).max_threads == 64


@pytest.mark.parametrize(
    "parameters",
    [
        "uint3 t [[thread_position_in_threadgroup]]",
        "uint2 t [[threadgroup_position_in_grid]]",
        "ushort3 t [[threads_per_threadgroup]]",
        "metal::uint2 t [[threads_per_grid]]",
        "vec<uint, 2> t [[threadgroups_per_grid]]",
        "Pair t [[dispatch_threads_per_threadgroup]]",
    ],
)
def test_positions_of_different_sizes_are_refused(parameters):
    said = read_refusal(kernel(parameters=parameters, before="using Pair = uint2;"))
    assert said.startswith(
        f"k.metal:4:13: error: {POSITIONS}; got uint i [[thread_position_in_grid]]"
    )


@pytest.mark.parametrize(
    "parameters",
    [
        "ushort t [[thread_position_in_threadgroup]]",
        "unsigned int t [[threadgroup_position_in_grid]], uint n [[threads_per_grid]]",
        "uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]",
        "constant uint3& shape",
    ],
)
def test_positions_of_one_size_are_accepted(parameters):
    build(kernel(parameters=parameters))


@pytest.mark.parametrize(
    ("declaration", "place", "remedy"),
    [
        ("constexpr float K = 2;", "3:17", "`constant constexpr float K`"),
        ("const int K = 2;", "3:11", "`constant int K`"),
        ("static const float K[2] = {1, 2};", "3:20", "`constant float K`"),
        ("constexpr uint K(4);", "3:16", "`constant constexpr uint K`"),
        ("constexpr uint K{4};", "3:16", "`constant constexpr uint K`"),
        ("static float K;", "3:14", "`constant float K`"),
        ("namespace n { constexpr float K = 2; }", "3:31", "`constant constexpr float K`"),
        ("struct S { static constexpr int K = 2; };", "3:33", "`constant constexpr int K`"),
        ("template <typename T> constexpr T K = T(2);", "3:35", "`constant constexpr T K`"),
        ("constant float* K = nullptr;", "3:17", "write `constant` before K"),
    ],
)
def test_variables_at_program_scope_are_refused(declaration, place, remedy):
    said = read_refusal(kernel(before=declaration))
    assert said.startswith(f"k.metal:{place}: error: {PROGRAM_SCOPE}; ")
    assert remedy in said


@pytest.mark.parametrize(
    "declaration",
    [
        "constant float K = 2;",
        "constant constexpr float K = 2;",
        "static constant constexpr const float K[] = {1, 2};",
        "constexpr constant float K = 2;",
        "float constant K = 2;",
        "namespace n { constant float K = 2; struct S; enum class E : uint; }",
        "struct S { static constexpr constant int K = 2; int k; };",
        "template <typename T> constant constexpr T K = T(2);",
        "template <typename T> struct S { T v; };\ntemplate <> struct S<int>;",
        "constexpr sampler K(coord::pixel);\nconstexpr sampler L = sampler(filter::linear);",
        "constant bool K [[function_constant(0)]];",
        "constexpr float square(float x) { constexpr float one = 1; return x * x * one; }",
        "float later(float x);",
    ],
)
def test_other_declarations_at_program_scope_are_accepted(declaration):
    engine.parse(HEADER + kernel(before=declaration), "k.metal")


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("auto g = [](float a) { return a; }; x[i] = g(1);", "5:10"),
        ("x[i] = [&] { return 1; }();", "5:8"),
        ("auto g = [=](float a) mutable { return a; }; x[i] = g(1);", "5:10"),
        ("auto g = [i](auto a) -> float { return a + i; }; x[i] = g(1);", "5:10"),
    ],
)
def test_lambdas_are_refused_before_metal_3_2(body, place):
    said = read_refusal(kernel(body))
    assert said.startswith(f"k.metal:{place}: error: {LAMBDA}; ")
    assert "--std metal3.2" in said
    for version in ("320", "400"):
        build(kernel(body), version)


FENCE = "atomic_thread_fence(mem_flags::mem_device, {}, thread_scope_device);"
ADD = "atomic_fetch_add_explicit((device atomic_uint*)x, 1u, {});"


def test_fences_are_refused_before_metal_3_2():
    said = read_refusal(kernel(FENCE.format("memory_order_seq_cst")))
    assert "5:1: error: use of undeclared identifier 'atomic_thread_fence'; Metal has it" in said
    assert "error: use of undeclared identifier 'memory_order_seq_cst'; Metal has it" in said
    for version in ("320", "400"):
        build(kernel(FENCE.format("memory_order_seq_cst")), version)
        build(kernel(FENCE.format("memory_order::memory_order_relaxed")), version)
    own = "void atomic_thread_fence(int a) {}"
    build(kernel("atomic_thread_fence(1); x[i] = 1;", own))


@pytest.mark.parametrize("version", ["310", "320", "400"])
def test_atomic_functions_have_one_order(version):
    build(kernel(ADD.format("memory_order_relaxed")), version)
    said = read_refusal(kernel(ADD.format("memory_order_acquire")), version)
    assert "error: use of undeclared identifier 'memory_order_acquire'" in said
    if version != "310":
        said = read_refusal(kernel(ADD.format("memory_order_seq_cst")), version)
        assert (
            "error: no matching function for call to 'atomic_fetch_add_explicit'; 'order'" in said
        )
        assert "must be 'metal::memory_order_relaxed'" in said


CLASS_TEMPLATE = """
template <class T> struct V {
  V(T x) : a(x) {}
  V() thread = default;
  V self() const { return V(a); }
  V other() const;
  T a;
};
template <class T> V<T> V<T>::other() const { V r(a); return V(r.a); }
struct W : V<float> { W(float x) : V(x) {} };
"""


@pytest.mark.parametrize(
    ("body", "place", "name"),
    [
        ("V v(1.0f); x[i] = v.a;", "15:1", "V"),
        ("const V v = 1.0f; x[i] = v.a;", "15:7", "V"),
        ("x[i] = V(1.0f).a;", "15:8", "V"),
        ("x[i] = 1; V v{1.0f};", "15:11", "V"),
        ("vec v{1.0f, 2.0f}; x[i] = v.x;", "15:1", "vec"),
        ("array a{1.0f, 2.0f}; x[i] = a[0];", "15:1", "array"),
    ],
)
def test_deduced_template_arguments_are_refused_before_metal_4(body, place, name):
    said = read_refusal(kernel(body, CLASS_TEMPLATE), "320")
    expected = f"error: use of class template '{name}' requires template arguments; "
    assert said.startswith(f"k.metal:{place}: {expected}")
    if name != "vec":
        build(kernel(body, CLASS_TEMPLATE), "400")


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("V<float> v(1.0f); x[i] = v.self().other().a + W(1).a;", ""),
        ("float array[2] = {1, 2}; float matrix = 3; x[i] = array[0] + (matrix);", ""),
        (
            "x[i] = apply<V>(1.0f);",
            "template <template <class> class X> float apply(float u) { return X<float>(u).a; }",
        ),
        ("x[i] = V(1, 2);", "float V(int a, int b) { return a + b; }"),
    ],
)
def test_class_templates_with_arguments_are_accepted(body, before):
    build(kernel(body, before if "float V" in before else CLASS_TEMPLATE + before))


def test_auto_template_parameters_are_refused_before_metal_4():
    before = "template <auto N> float g() { return N; }"
    said = read_refusal(kernel("x[i] = g<3>();", before), "320")
    assert said.startswith(
        "k.metal:3:11: error: 'auto' not allowed in template parameter until C++"
    )
    build(kernel("x[i] = g<3>();", before), "400")


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("if constexpr (sizeof(float) == 4) { x[i] = 1; } else { x[i] = 2; }", ""),
        ("auto [a, b] = S{1, 2}; x[i] = a + b;", "struct S { float a, b; };"),
        (
            "x[i] = n::m::g(1.0f, 2.0f);",
            "namespace n::m {\ntemplate <class... T> float g(T... t) { return (t + ...); } }",
        ),
        ("if (uint n = i; n > 1) x[i] = n;", ""),
        ("switch (uint n = i; n) { case 1: x[i] = n; break; default: break; }", ""),
        ("[[maybe_unused]] int n = 1; static_assert(sizeof(n) == 4); x[i] = 1;", ""),
        ("x[i] = K;", "inline constant constexpr float K = 2;"),
        (
            "x[i] = V<T>().t.a;",
            "template <class S> struct T { S a = 1; };\n"
            "template <template <class> typename U> struct V { U<float> t; };",
        ),
        ("S s = {.a = 1, .b = 2}; x[i] = s.a + s.b;", "struct S { float a, b; };"),
    ],
)
def test_extensions_of_cpp_17_are_accepted(body, before):
    # Apple's compiler warns about them: -Wc++17-extensions.
    build(kernel(body, before))


@pytest.mark.parametrize(
    "body",
    [
        "float a[2] = {1, 2}; x[i] = a[i % 2];",
        "float a[] {1, 2}; float (&b)[2] = a; x[i] = b[(i) % 2];",
        "[[maybe_unused]] int n = 1; x[i] = float4(x[i])[0];",
    ],
)
def test_subscripts_are_not_lambdas(body):
    build(kernel(body))


@pytest.mark.parametrize(
    ("body", "before", "place", "previous"),
    [
        ("uint half = 3; x[i] = 1;", "", "5:6", "type-name"),
        ("float half = 3;", "", "5:7", "float"),
        ("const int bfloat = 3;", "", "5:11", "int"),
        ("x[i] = 1;", "float g(float half) { return 1; }", "3:15", "float"),
        ("x[i] = 1;", "struct S { float2 half; };", "3:19", "type-name"),
    ],
)
def test_type_names_as_identifiers_are_refused(body, before, place, previous):
    said = read_refusal(kernel(body, before))
    expected = f"cannot combine with previous '{previous}' declaration specifier; `"
    assert said.startswith(f"k.metal:{place}: error: {expected}")


@pytest.mark.parametrize(
    "body",
    [
        "half v = 1; x[i] = half(v) * half(2) + (half)3;",
        "const half v = 1; vec<half, 2> w = half2(v); *(device half*)x = w.x;",
        "thread half* p; half v[2] = {1, 2}; p = v; x[i] = static_cast<bfloat>(float(*p));",
    ],
)
def test_type_names_as_types_are_accepted(body):
    build(kernel(body))


def test_all_violations_are_listed_in_order():
    said = read_refusal(kernel("uint half = 1; x[i] = [] { return K; }();", "constexpr int K = 1;"))
    places = [line.split(": error")[0] for line in said.splitlines() if ": error: " in line]
    assert places == ["k.metal:3:15", "k.metal:5:6", "k.metal:5:23"]


def test_violations_have_the_column_before_the_expansion_of_macros():
    said = read_refusal(kernel("", "#define NUMBER unsigned  long\nconst   NUMBER   K = 1;"))
    assert said.startswith("k.metal:4:18: error: ")
    assert "const   NUMBER   K = 1;\n      |                  ^" in said


def test_unknown_versions_are_refused():
    with pytest.raises(
        CompileError, match=r"__METAL_VERSION__: expected 310 \(metal3\.1\), .*got 9"
    ):
        engine.parse(HEADER + kernel(), "k.metal", {"__METAL_VERSION__": "9"})


@pytest.mark.parametrize("version", ["310", "320", "400"])
def test_sources_see_the_version(version):
    body = f"static_assert(__METAL_VERSION__ == {version});"
    build(kernel(body), version)


@pytest.mark.parametrize(
    ("text", "place", "kind"),
    [
        (kernel(before="void g(float* p) {}"), "3:13", "pointer"),
        (
            kernel(before="void g(const constant float4& a, const float4& p) {}"),
            "3:46",
            "reference",
        ),
        (kernel(before="float* g(device float* p);"), "3:6", "pointer"),
        (kernel(before="struct S { S(const S& other); };"), "3:21", "reference"),
        (kernel(before="struct S { int* p; };"), "3:15", "pointer"),
        (kernel(before="struct S {};\nvoid g(S& s);"), "4:9", "reference"),
        (kernel(before="using P = float*;"), "3:16", "pointer"),
        (kernel(before="typedef packed_float3* P;"), "3:22", "pointer"),
        (kernel(before="using F = uint;\nvoid g(F* f);"), "4:9", "pointer"),
        (kernel(before="void g(vec<float, 2>* p);"), "3:21", "pointer"),
        (kernel(before="float g(float (&a)[4]) { return a[0]; }"), "3:16", "reference"),
        (kernel("float v = 1; float* p = &v; x[i] = *p;"), "5:19", "pointer"),
        (kernel("float v[2]; for (float& e : v) e = 1; x[i] = v[0];"), "5:23", "reference"),
        (kernel("x[i] = *(float*)x;"), "5:15", "pointer"),
        (kernel("x[i] = *reinterpret_cast<const uint*>(x);"), "5:36", "pointer"),
        (kernel("x[i] = is_same_v<float*, int>;"), "5:23", "pointer"),
        (kernel("x[i] = sizeof(float4*);"), "5:21", "pointer"),
    ],
)
def test_pointers_without_address_space_are_refused(text, place, kind):
    assert read_refusal(text).startswith(f"k.metal:{place}: error: {kind} {SPACE}; write `thread`")


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("void g(thread float* p, device const float4& q, float constant* r) {}", "x[i] = 1;"),
        ("template <typename T> void g(T* p, T& q, vec<T, 2>* r) {}", "x[i] = 1;"),
        ("struct S { S(const thread S& other); thread S& operator=(const thread S& o); };", ";"),
        ("template <typename T> void move(const device T*& p, thread float**& q) { ++p; }", ";"),
        ("using P = device float*;\nvoid g(P p, thread P& q, P* r) {}", "P p = x; x[i] = *p;"),
        ("typedef threadgroup float Shared;\nvoid g(Shared* p) {}", "x[i] = 1;"),
        ("float g(thread const float (&a)[4]) { return a[0]; }", "x[i] = 1;"),
        ("", "auto& v = x[i]; auto* p = x; v = p[i];"),
        ("", "float a = 2, b = 3; float c = a * b, d = (a) * (b); x[i] = float(a * c) * d;"),
        ("", "uint a = 2 & i; bool b = a && i; x[i] = min(a & 3, uint(b)) + (a & i);"),
        ("", "thread float* p; device float4* q = (device float4*)x; *q = 1; (void)p;"),
        ("bool operator&(half a, half b) { return true; }", "x[i] = int(2 * i) & int(i);"),
    ],
)
def test_pointers_with_an_address_space_are_accepted(before, body):
    engine.parse(HEADER + kernel(body, before), "k.metal")


@pytest.mark.slow
@pytest.mark.parametrize("name", Library().names("all"))
def test_kernels_of_the_library_violate_no_rule(name):
    kernel = replace(Library().entry(name).kernel(), standard="metal3.1")
    for name_of_type in kernel.dtypes:
        values = kernel.resolve_tunables(dtype=name_of_type)
        options = source_options(kernel, dtype(name_of_type), values)
        assert options["macros"]["__METAL_VERSION__"] == "310"
        engine.parse(kernel.source, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{PLAIN_KERNEL} {{ goto end; end: x[i] = 1; }}", "'goto' is not supported in Metal"),
        (
            f"{PLAIN_KERNEL} {{ register float a = 1; x[i] = a; }}",
            "Metal does not support the 'register' storage class specifier",
        ),
        (
            f"{PLAIN_KERNEL} {{ long long a = 1; x[i] = a; }}",
            "'long long' is not supported in Metal",
        ),
        (
            f"{PLAIN_KERNEL} {{ unsigned long long a = 1; x[i] = a; }}",
            "'long long' is not supported in Metal",
        ),
        (
            f"float g() {{ return 1; }}\n{PLAIN_KERNEL} {{ x[i] = noexcept(g()); }}",
            "'noexcept' is not supported in Metal",
        ),
        (
            f"{PLAIN_KERNEL} {{ float a[i]; a[0] = 1; x[i] = a[0]; }}",
            "variable length arrays are not supported in Metal",
        ),
        (f"{PLAIN_KERNEL} {{ static float a = 1; x[i] = a; }}", STATIC),
        (f"{PLAIN_KERNEL} {{ static const float a = 1; x[i] = a; }}", STATIC),
        (
            "float g() { static constexpr float a = 1; return a; }\n"
            f"{PLAIN_KERNEL} {{ x[i] = g(); }}",
            STATIC,
        ),
        (
            f"float g(uint i) {{ threadgroup float a[4]; return a[i]; }}\n"
            f"{PLAIN_KERNEL} {{ x[i] = g(i); }}",
            AUTOMATIC,
        ),
        (
            f"struct S {{ float g() {{ threadgroup float a; return a; }} }};\n"
            f"{PLAIN_KERNEL} {{ S s; x[i] = s.g(); }}",
            AUTOMATIC,
        ),
        (
            f"float main() {{ return 1; }}\n{PLAIN_KERNEL} {{ x[i] = 1; }}",
            "non-qualified function cannot be called 'main'",
        ),
        (
            "kernel float f(device float* x) { return 1; }",
            "invalid return type 'float' for kernel function",
        ),
        (
            "kernel void f(device float* x, ...) { x[0] = 1; }",
            "invalid prototype, variadic arguments are not allowed in Metal qualified functions",
        ),
        (
            f"struct S {{ kernel void g(device float* x) {{ x[0] = 1; }} }};\n"
            f"{PLAIN_KERNEL} {{ x[i] = 1; }}",
            "kernel function cannot be a member function",
        ),
    ],
)
def test_a_restriction_is_refused_in_metals_words(text: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        build(text)
    assert f"error: {message}" in str(caught.value)
    assert str(caught.value).startswith("k.metal:")


@pytest.mark.parametrize(
    "text",
    [
        f"{PLAIN_KERNEL} {{ constexpr float a = 1; x[i] = a; }}",
        f"{PLAIN_KERNEL} {{ static constant float a[2] = {{1, 2}}; x[i] = a[i & 1]; }}",
        f"{PLAIN_KERNEL} {{ static threadgroup float a[64]; a[i & 63] = 1; x[i] = a[i & 63]; }}",
        f"static float g() {{ return 1; }}\n{PLAIN_KERNEL} {{ x[i] = g(); }}",
        f"struct S {{ static float g() {{ return 1; }} }};\n{PLAIN_KERNEL} {{ x[i] = S::g(); }}",
        f"float g() noexcept {{ return 1; }}\n{PLAIN_KERNEL} {{ x[i] = g(); }}",
        f"float g(uint i, threadgroup float* a) {{ threadgroup float* b = a; return b[i]; }}\n"
        f"{PLAIN_KERNEL} {{ threadgroup float a[64]; a[i & 63] = 1; x[i] = g(i & 63, a); }}",
        f"{PLAIN_KERNEL} {{ {{ threadgroup float a[64]; a[i & 63] = 1; x[i] = a[i & 63]; }} }}",
        f"{PLAIN_KERNEL} {{ long a = 1; unsigned long b = 2; x[i] = a + b; }}",
        "template <typename T> kernel void g(device T* x) { x[0] = 1; }\n"
        'template [[host_name("f")]] kernel void g<float>(device float*);',
        f"struct S {{ float register_; }};\n"
        f"{PLAIN_KERNEL} {{ S s; s.register_ = 1; x[i] = s.register_; }}",
    ],
)
def test_a_similar_construct_is_accepted(text: str) -> None:
    build(text)
