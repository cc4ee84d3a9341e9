"""Random MSL: kernels of a small grammar, and kernels with mutated tokens."""

from __future__ import annotations

import random

from metalbench.msl.frontend.tokens import split_source

SCALARS = ["float", "half", "bfloat", "int", "uint", "short", "uchar", "bool", "long"]
TYPES = [*SCALARS, "float2", "float3", "float4", "half4", "uint2", "int4", "bool4", "packed_float3"]
UNARY = ["-", "!", "~", "abs", "exp", "sqrt", "float", "half", "bfloat", "(half)", "(bfloat)"]
BINARY = ["+", "-", "*", "/", "%", "&", "<<", "<", "==", "&&", "min", "max", "pow", "dot"]
# What a mutation inserts: everything that the front end looks at.
_WORDS = """
device constant threadgroup thread kernel [[kernel]] [[host_name("x")]] [[buffer(0)]] [[buffer(99)]]
[[function_constant(0)]] [[thread_position_in_grid]] [[texture(0)]] [[stage_in]] template typename
struct union enum namespace using typedef operator decltype static_cast static const constexpr
half bfloat float4 vec atomic_uint 1.0h 2bf 0x1.p3 0b1 'a "b" #include #define #if # // /* */
( ) [ ] { } < > ; , : :: . -> = == && | & * ... ? @ \\ \x00 \xe9 \ufeff coherent(device) extern "C"
vertex fragment ray_data sampler texture2d threadgroup_barrier simd_sum alignas auto goto return
is_function_constant_defined [[max_total_threads_per_threadgroup(8)]] .xyzw .xg .rrrr #pragma
"""
WORDS = _WORDS.split()


class Generator:
    """Text from a grammar: every choice is one of `choose`, so that it can be replayed."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose

    def expression(self, depth: int = 3) -> str:
        """An expression of x, y, a[i], constants and calls."""
        pick = self.choose.choice
        if depth == 0:
            return pick(["x", "y", "a[i]", "i", "1", "2.5f", "1.0h", "0.5bf", "T(3)", "S<T>{x}.v"])
        inner, other = self.expression(depth - 1), self.expression(depth - 1)
        kind = self.choose.randrange(5)
        if kind == 0:
            return f"{pick(UNARY)}({inner})"
        if kind == 1:
            operator = pick(BINARY)
            return (
                f"{operator}({inner}, {other})"
                if operator.isalpha()
                else f"({inner} {operator} {other})"
            )
        if kind == 2:
            return f"static_cast<{pick(TYPES)}>({inner})"
        if kind == 3:
            return f"({inner} < {other} ? {other} : {inner})"
        return f"{pick(['g<T>', 'g', 'simd_sum', 'as_type<uint>'])}({inner})"

    def statement(self, depth: int = 2) -> str:
        """A statement, with others inside."""
        pick, kind = self.choose.choice, self.choose.randrange(8)
        value = self.expression()
        if depth and kind < 3:
            body = " ".join(self.statement(depth - 1) for _ in range(self.choose.randrange(3)))
            return pick(
                [
                    f"if ({value}) {{ {body} }} else {{ {body} }}",
                    f"for (uint k = 0; k < 4; ++k) {{ {body} }}",
                    f"[[unroll]] while (x < y) {{ {body} break; }}",
                    f"{{ threadgroup {pick(TYPES)} t[4], u; {body} }}",
                    f"auto l = [&](auto q) {{ {body} return q; }}; l({value});",
                ]
            )
        return pick(
            [
                f"x = {value};",
                f"a[i] = {value};",
                f"{pick(TYPES)} z{self.choose.randrange(99)} = {value};",
                f"device {pick(TYPES)}* p = (device {pick(TYPES)}*)a;",
                "threadgroup_barrier(mem_flags::mem_threadgroup);",
                f"s[i % 8] = {value};",
                f"v.{pick(['x', 'xy', 'zyx', 'rgba', 'xxxx', 'xg'])} += {value};",
            ]
        )

    def source(self) -> str:
        """A whole file: a struct, a function template, constants and a kernel."""
        pick = self.choose.choice
        body = "\n  ".join(self.statement() for _ in range(self.choose.randrange(1, 6)))
        kind = pick(TYPES)
        space = pick(["device", "constant", "threadgroup"])
        template = self.choose.random() < 0.5
        head = "template <typename T, int N = 4>\n[[kernel]]" if template else "kernel"
        end = (
            f'template [[host_name("f_{kind}")]] [[kernel]] decltype(f<{kind}>) f<{kind}>;\n'
            if template
            else ""
        )
        return f"""#include <metal_stdlib>
using namespace metal;
constant bool flag [[function_constant(0)]];
constant {kind} table[4] = {{}};
template <typename T> struct S {{ T v; T get() const {space} {{ return v; }} }};
template <typename T> T g(T x) {{ return x; }}
float g({space} float* p) {{ return *p; }}
{"" if template else f"using T = {kind};"}
{head} void f(device T* a [[buffer(0)]], constant uint& n, threadgroup T* s [[threadgroup(0)]],
    uint i [[thread_position_in_grid]]) {{
  T x = a[i], y = a[n]; float4 v = 0;
  {body}
}}
{end}"""


def mutate(choose: random.Random, text: str, other: str) -> str:
    """`text` with tokens removed, doubled, exchanged, inserted, or taken from another text."""
    tokens = split_source(text)
    for _ in range(choose.randrange(1, 6)):
        if not tokens:
            break
        at, length = choose.randrange(len(tokens)), choose.randrange(1, 8)
        kind = choose.randrange(7)
        if kind == 0:
            del tokens[at : at + length]
        elif kind == 1:
            tokens[at:at] = tokens[at : at + length]
        elif kind == 2:
            swap = choose.randrange(len(tokens))
            tokens[at], tokens[swap] = tokens[swap], tokens[at]
        elif kind == 3:
            tokens[at] = choose.choice(WORDS)
        elif kind == 4:
            tokens.insert(at, f" {choose.choice(WORDS)} ")
        elif kind == 5:
            tokens[at:at] = [choose.choice("([{<>}])")] * choose.randrange(1, 40)
        else:
            donor = split_source(other)
            begin = choose.randrange(len(donor))
            tokens[at : at + length] = donor[begin : begin + choose.randrange(1, 60)]
    if choose.random() < 0.05:
        del tokens[choose.randrange(len(tokens) + 1) :]
    return "".join(tokens)
