"""Argument-dependent lookup reaches no function of the engine's namespace from Metal's types.

A kernel that reaches one can tell checked builds from others, or change what they report.
"""

from __future__ import annotations

import pytest

from metalbench.msl.frontend.lower import build_preamble
from metalbench.msl.frontend.tokens import lex
from metalbench.msl.toolchain.clang import NVPTX, find_toolchain, list_flags
from metalbench.msl.toolchain.run_tool import run_tool

SOURCE = """#include <metal_stdlib>
using namespace metal;
sampler simdgroup_async_copy_2d texture2d
"""

# Found if lookup reaches the namespace.
TRAP = """
namespace mb { template <class... A> char engine_trap(A&&...); }
template <class T> T&& value() noexcept;
template <class A, class = void> constexpr bool reaches = false;
template <class A>
constexpr bool reaches<A, decltype(void(engine_trap(value<A>())))> = true;
"""

TYPES = [
    *("float2", "half3", "int4", "uchar4", "bool2", "packed_float3", "packed_half4"),
    *("float4x4", "half2x3", "simdgroup_float8x8", "simdgroup_half8x8"),
    *(
        "numeric_limits<float>",
        "numeric_limits<int>",
        "numeric_limits<half>",
        "numeric_limits<float4>",
    ),
    *("sampler", "array<float, 4>", "array_ref<float>", "atomic_int", "atomic<float>"),
    *("texture1d<float>", "texture2d<half, access::write>", "texture3d<int>", "depth2d<float>"),
    *("texturecube<float>", "texture2d_array<uint, access::read>", "texture_buffer<float>"),
    *("array<texture2d<float>, 4>", "simd_vote", "access", "memory_order", "mem_flags"),
    *("gradient2d", "bias", "is_same<float4, float4>", "level", "filter", "coord"),
    *("decltype(value<float4>()[0])", "decltype(value<float4&>().x)", "decltype(float2() + 1)"),
    *("decltype(value<float4x4&>()[0])", "decltype(value<array<float2, 3>&>()[0])"),
    *("decltype(value<sampler&>().mag_filter)", "decltype(value<sampler&>().address)"),
    *("decltype(value<sampler&>().border)", "decltype(value<sampler&>().compare)"),
    *(
        "decltype(&sampler::mag_filter)",
        "decltype(&float4::x)",
        "decltype(&numeric_limits<float>::max)",
    ),
    *("decltype(value<texture2d<float>&>().sample(sampler(), float2(0)))",),
    *("decltype(value<texture2d<float>&>().read(uint2(0)))",),
    *("decltype(value<texture2d<float>&>().get_width())", "decltype(&texture2d<float>::fence)"),
    *("decltype(bound_texture())", "decltype(bound_sampler())", "decltype(simd_ballot(true))"),
    *("decltype(as_type<float2>(1ul))", "decltype(modf(1.0f, value<thread float&>()))"),
]

# The members that a structured binding reaches without their names.
BINDINGS = """
auto bound_texture() { auto [a] = texture2d<float>(); return a; }
auto bound_sampler() { auto [a, b, c, d, e, f, g, h, i, j, k] = sampler(); return c; }
"""


def said(checks: str, options: list[str]) -> str:
    tools = find_toolchain()
    text = f"{build_preamble(lex(SOURCE))}\n{TRAP}using namespace metal;\n{BINDINGS}{checks}"
    text = text.replace("thread float", "float")
    command = [*tools.clang, "-fsyntax-only", "-x", "c++", *options, *tools.include_flags]
    answer = run_tool([*command, "-ferror-limit=0", "-"], text, reads=[tools.headers])
    return answer.stderr


BUILDS = {
    "plain": list_flags(checked=False, fast_math=True),
    "checked": list_flags(checked=True, fast_math=True),
    "spaces": list_flags(checked=False, fast_math=True, spaces=True),
    "GPU": list_flags(checked=False, fast_math=True, goal=NVPTX),
}


@pytest.mark.whole
@pytest.mark.parametrize("build", BUILDS)
def test_types_of_metal_do_not_expose_the_engine(build: str) -> None:
    checks = "".join(f"static_assert(!reaches<{kind}>);\n" for kind in TYPES)
    assert not said(checks, BUILDS[build])


def test_the_trap_is_found_through_a_type_of_the_engine() -> None:
    assert "static assertion failed" in said("static_assert(!reaches<mb::Dim3>);", BUILDS["plain"])
