"""Spellings of threadgroup variables: each is shared by the threads, in every kind of build."""

from __future__ import annotations

import re

import numpy as np
import pytest
from engine_ways import WAYS, on

from metalbench import _core
from metalbench.msl import engine

THREADS = 64

# Name: declarations ahead of the kernel, declaration of `s` with THREADS elements.
SPELLINGS = {
    "gnu-aligned": ("", "threadgroup __attribute__((aligned(16))) float s[64];"),
    "gnu-aligned-first": ("", "__attribute__((aligned(32))) threadgroup float s[64];"),
    "gnu-aligned-behind": ("", "threadgroup float s[64] __attribute__((aligned(16)));"),
    "gnu-aligned-behind-type": ("", "threadgroup float __attribute__((aligned(64))) s[64];"),
    "gnu-aligned-among-others": (
        "",
        "threadgroup __attribute__((unused, __aligned__(16), may_alias)) float s[64];",
    ),
    "gnu-aligned-most": ("", "threadgroup __attribute__((aligned)) float s[64];"),
    "alignas-first": ("", "alignas(16) threadgroup float s[64];"),
    "alignas-of-a-type": ("", "threadgroup alignas(float4) float s[64];"),
    "alignas-behind-the-name": ("", "threadgroup float s alignas(16) [64];"),
    "bracketed-attribute": ("", "[[maybe_unused]] threadgroup float s[64];"),
    "bracketed-aligned": ("", "[[gnu::aligned(16)]] threadgroup float s[64];"),
    "bracketed-behind-the-name": ("", "threadgroup float s [[maybe_unused]] [64];"),
    "bracketed-at-the-end": ("", 'threadgroup float s[64] [[clang::annotate("x")]];'),
    "behind-the-type": ("", "float threadgroup s[64];"),
    "behind-const-type": ("", "float volatile threadgroup s[64];"),
    "volatile": ("", "volatile threadgroup float s[64];"),
    "static": ("", "static threadgroup float s[64];"),
    "threadgroup-static": ("", "threadgroup static float s[64];"),
    "using": ("using TG = threadgroup float;", "TG s[64];"),
    "local-using": ("", "using TG = threadgroup float; TG s[64];"),
    "typedef": ("typedef threadgroup float TG;", "TG s[64];"),
    "typedef-behind-the-type": ("typedef float threadgroup TG;", "static TG s[64];"),
    "typedef-of-an-array": ("typedef threadgroup float TG[64];", "TG s;"),
    "typedef-of-several": ("typedef threadgroup float TG, *TGP;", "TG s[64]; TGP p = s; p[i] = 0;"),
    "using-of-an-array": ("", "using TG = threadgroup float[64]; TG s;"),
    "alias-of-an-alias": ("using A = threadgroup float; using B = A;", "B s[64];"),
    "alias-template": (
        "template <typename T> using TG = threadgroup T;",
        "TG<float> s[64];",
    ),
    "alias-of-a-record": ("struct R { using TG = threadgroup float; };", "R::TG s[64];"),
    "alias-with-alignment": ("using TG = threadgroup float;", "alignas(16) TG s[64];"),
    "const-alias": ("using TG = volatile threadgroup float;", "TG s[64];"),
    "second-of-two": ("", "threadgroup float t[4], s[64]; t[i & 3] = 1;"),
    "next-to-a-pointer": ("", "threadgroup float s[64], *p = s; p[i] = 3;"),
    "behind-a-pointer": (
        "",
        "threadgroup float t[64]; threadgroup float *p = t, s[64]; p[i] = 2;",
    ),
    "aligned-next-to-a-pointer": (
        "",
        "threadgroup float t[64]; threadgroup __attribute__((aligned(16))) float s[64], *p = t;"
        "p[i] = 2;",
    ),
    "pointer-in-threadgroup-memory": (
        "",
        "threadgroup float s[64]; threadgroup float* threadgroup q; q = s;"
        "threadgroup_barrier(mem_flags::mem_threadgroup); q[i] = 1;",
    ),
    "nested-block": ("", "{ threadgroup float t[3]; t[i % 3] = 0; } threadgroup float s[64];"),
    "behind-a-branch": ("", "if (n == 3) { x[i] = 1; } threadgroup float s[64];"),
    "behind-a-label": ("", "switch (n) { case 3: x[i] = 1; default: ; } threadgroup float s[64];"),
    "record-in-place": (
        "",
        "threadgroup struct Pair { float a[64]; int b; } pair; threadgroup auto& s = pair.a;",
    ),
    "record-in-place-and-pointer": (
        "",
        "threadgroup struct Pair { float a[64]; int b; } pair, *q = &pair;"
        "threadgroup auto& s = q->a;",
    ),
    "behind-a-record": ("", "struct Pair { float a[64]; } threadgroup pair; auto& s = pair.a;"),
    "macro": ("#define SHARED threadgroup __attribute__((aligned(16)))", "SHARED float s[64];"),
    "macro-of-all": ("#define SHARED(T, n) T threadgroup n[64]", "SHARED(float, s);"),
    "template-argument": (
        "template <typename T> struct View { T* p; };",
        "threadgroup float t[64]; View<threadgroup float> v = {t}; threadgroup float* s = v.p;",
    ),
    "template-type": (
        "template <typename T, int N> struct Tile { T a[N]; };",
        "threadgroup Tile<float, 64> tile; auto& s = tile.a;",
    ),
    "qualified-type": ("", "threadgroup metal::array<float, 64> s;"),
    "integral-type": ("", "threadgroup unsigned int t[64]; t[i] = 0; threadgroup float s[64];"),
    "typeof": ("", "threadgroup __typeof__(x[0] + 1) s[64];"),
}


def source_of(declarations: str, declaration: str) -> str:
    return f"""#include <metal_stdlib>
using namespace metal;
{declarations}
kernel void f(device float* x, constant int& n, uint i [[thread_index_in_threadgroup]]) {{
  {declaration}
  s[i] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[i] = s[63 - i];
}}"""


@pytest.fixture(params=[*WAYS, "checked"])
def run_reversal(request, cpu):
    """Run a kernel that reverses 64 values, in every kind of build; return what it left."""

    def run(source: str) -> np.ndarray:
        pipeline = cpu.compile(source, checked=request.param == "checked").pipeline("f")
        x = np.arange(THREADS, dtype=np.float32)
        given = {"x": x, "n": np.int32(1)}
        cpu.run([_core.Dispatch(pipeline, given, threads_in_grid=THREADS, threads=THREADS)])
        return x

    if request.param == "checked":
        yield run
        return
    with on(request.param, request.node):
        yield run


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_threadgroup_variables_are_shared(run_reversal, spelling):
    assert (run_reversal(source_of(*SPELLINGS[spelling])) == np.arange(THREADS)[::-1]).all()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_threadgroup_variables_are_shared_memory_of_a_gpu(spelling):
    program = engine.parse(source_of(*SPELLINGS[spelling]))
    with open(engine.build_for_gpu(program, "f").path) as file:
        ptx = file.read()
    assert " mb_info[" in ptx
    assert ".shared" in ptx
    assert re.search(r"\bld\.(volatile\.)?shared", ptx)
    assert ".local" not in ptx


NOT_UNDERSTOOD = {
    "initialised-in-a-loop": "for (threadgroup float s[64]; n > 9;) {}",
    "alias-in-a-loop": "using TG = threadgroup float; for (TG s[64]; n > 9;) {}",
    "condition": "if (threadgroup float s = x[i]) x[i] = s;",
    "without-a-block": "if (n) threadgroup float s[64];",
    "member": "struct S { threadgroup float s[64]; } t; t.s[i] = 1;",
    "alias-of-a-member": "using TG = threadgroup float; struct S { TG s[64]; } t; t.s[i] = 1;",
    "parenthesised": "threadgroup float (s)[64]; s[i] = 1;",
    "constructor": "threadgroup float s(1.0f); x[i] = s;",
    "auto": "threadgroup auto s = x[i];",
    "constexpr": "threadgroup constexpr float s = 1;",
    "operand": "int threadgroup_ = 2; x[i] = n * threadgroup + threadgroup_;",
    "name": "float device = 2; x[i] = n * device + 1;",
    "hidden-pointer": "threadgroup float (* threadgroup s)[64];",
    "value-cast": "x[i] = (threadgroup float)n;",
}


@pytest.mark.parametrize("case", NOT_UNDERSTOOD)
def test_unrecognised_threadgroup_variables_are_an_error(cpu, case):
    source = source_of("", f"{NOT_UNDERSTOOD[case]}\n  threadgroup float t[64];")
    with pytest.raises(
        _core.CompileError, match=r"<source>:5:\d+: error: `\w+`.* is not supported"
    ):
        cpu.compile(source).pipeline("f")


BY_TYPE = {
    "template-argument": (
        "template <typename T> float sum(uint i, float v) { T s[64]; s[i] = v; return s[63 - i]; }",
        "x[i] = sum<threadgroup float>(i, x[i]);",
    ),
    "static-of-a-template": (
        "template <typename T> float sum(uint i, float v) {"
        " static T s[64]; s[i] = v; return s[63 - i]; }",
        "x[i] = sum<threadgroup float>(i, x[i]);",
    ),
    "alias-as-template-argument": (
        "template <typename T> struct Box { using type = T; };",
        "using TG = threadgroup float; typename Box<TG>::type t[64]; t[i] = 1;",
    ),
    "typeof": ("", "threadgroup float t[64]; __typeof__(t) u; u[i] = 1;"),
    "decltype": (
        "",
        "threadgroup float t[64]; metal::remove_reference_t<decltype(t[0])> u[64]; u[i] = 1;",
    ),
    "member-type": (
        "template <typename T> struct Box { T s[64]; };",
        "Box<threadgroup float> b; b.s[i] = 1;",
    ),
}


@pytest.mark.parametrize("case", BY_TYPE)
def test_variables_with_a_space_from_their_type_are_refused(cpu, case):
    declarations, statement = BY_TYPE[case]
    with pytest.raises(_core.CompileError, match="address space|not constant|declared static"):
        cpu.compile(source_of(declarations, f"{statement} threadgroup float s[64];")).pipeline("f")
