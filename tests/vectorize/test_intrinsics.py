"""LLVM's own functions, of every lane in one instruction, and others that a kernel calls."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from vectorize.launches import emit_text

from metalbench.msl.ir.text import IrError

Function = Callable[..., object]


def to_signed(v: int) -> int:
    return v - 2**32 if v >= 2**31 else v


def clamp(v: int, least: int, most: int) -> int:
    return max(least, min(most, v))


FLOATS: dict[str, tuple[int, Function]] = {
    "fabs": (1, abs),
    "floor": (1, np.floor),
    "ceil": (1, np.ceil),
    "trunc": (1, np.trunc),
    "rint": (1, np.rint),
    "nearbyint": (1, np.rint),
    "roundeven": (1, np.rint),
    "round": (1, lambda x: math.copysign(math.floor(abs(x) + 0.5), x)),
    "canonicalize": (1, float),
    "copysign": (2, math.copysign),
    "minnum": (2, np.fmin),
    "maxnum": (2, np.fmax),
    "minimum": (2, np.minimum),
    "maximum": (2, np.maximum),
    "minimumnum": (2, np.fmin),
    "maximumnum": (2, np.fmax),
    "fma": (3, lambda x, y, z: np.float32(float(x) * float(y) + float(z))),
    "fmuladd": (3, lambda x, y, z: np.float32(float(x) * float(y) + float(z))),
}
INTEGERS: dict[str, tuple[int, Function]] = {
    "smin": (2, lambda x, y: min(x, y, key=to_signed)),
    "umin": (2, min),
    "smax": (2, lambda x, y: max(x, y, key=to_signed)),
    "umax": (2, max),
    "ctpop": (1, lambda x: x.bit_count()),
    "bswap": (1, lambda x: int.from_bytes(x.to_bytes(4, "little"), "big")),
    "bitreverse": (1, lambda x: int(f"{x:032b}"[::-1], 2)),
    "fshl": (3, lambda x, y, z: ((x << 32 | y) << z % 32) >> 32),
    "fshr": (3, lambda x, y, z: (x << 32 | y) >> z % 32),
    "uadd.sat": (2, lambda x, y: clamp(x + y, 0, 2**32 - 1)),
    "usub.sat": (2, lambda x, y: clamp(x - y, 0, 2**32 - 1)),
    "sadd.sat": (2, lambda x, y: clamp(to_signed(x) + to_signed(y), -(2**31), 2**31 - 1)),
    "ssub.sat": (2, lambda x, y: clamp(to_signed(x) - to_signed(y), -(2**31), 2**31 - 1)),
}
FLAGGED: dict[str, Function] = {
    "abs": lambda x: abs(to_signed(x)),
    "ctlz": lambda x: 32 - x.bit_length(),
    "cttz": lambda x: (x & -x).bit_length() - 1 if x else 32,
}
# Where the operands are: of each lane, one for all, or the first one of each lane.
PLACES = {"each": (".lane",) * 3, "shared": ("",) * 3, "mixed": (".lane", "", "")}


def program(type_: str, functions: dict[str, tuple[int, Function]], place: str, suffix: str) -> str:
    lines = [f"%x{k} = load {type_}, ptr %{n}{PLACES[place][k]}" for k, n in enumerate("abd")]
    for name, (count, _) in functions.items():
        given = ", ".join(f"{type_} %x{k}" for k in range(count))
        key = name.replace(".", "_")
        lines += [
            f"%r{key} = call {type_} @llvm.{name}.{suffix}({given})",
            f"store {type_} %r{key}, ptr %out_{key}.lane",
        ]
    return "\n".join(lines)


def declare(type_: str, functions: dict[str, tuple[int, Function]], suffix: str) -> str:
    return "\n".join(
        f"declare {type_} @llvm.{name}.{suffix}({', '.join([type_] * count)})"
        for name, (count, _) in functions.items()
    )


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["floats", "integers"])
def test_intrinsics_by_element(check, kind, place):
    functions = FLOATS if kind == "floats" else INTEGERS
    type_, suffix, dtype = ("float", "f32", "f4") if kind == "floats" else ("i32", "i32", "u4")
    rng = np.random.default_rng(1)
    if kind == "floats":
        arrays = {n: (rng.integers(-20, 20, 32) / 4).astype("f4") for n in "abd"}
        arrays["a"][0] = abs(arrays["a"][0]) + 0.5
        arrays["b"][3] = np.nan
    else:
        arrays = {n: rng.integers(0, 2**32, 32, "u4") for n in "abd"}
        arrays["a"][1], arrays["b"][1] = 2**31 - 1, 2**31 - 5

    def want(t, a, b, d, **results):
        for name, (count, function) in functions.items():
            for lane in t.lane:
                at = [lane if each else 0 for each in PLACES[place]]
                given = [array[k] for array, k in zip((a, b, d), at, strict=True)][:count]
                if kind == "integers":
                    given = [int(each) for each in given]
                found = function(*given)
                found = found % 2**32 if kind == "integers" else found
                results[f"out_{name.replace('.', '_')}"][lane] = found

    results = {f"out_{name.replace('.', '_')}": np.zeros(32, dtype) for name in functions}
    body = program(type_, functions, place, suffix)
    check(body, want, declare(type_, functions, suffix), **arrays, **results)


def test_square_roots(check):
    body = """
        %v = load float, ptr %a.lane
        %r = call fast float @llvm.sqrt.f32(float %v)
        store float %r, ptr %out.lane"""

    def want(t, a, out):
        out[t.lane] = np.sqrt(a[t.lane])

    a = np.arange(32, dtype="f4") ** 2
    check(body, want, "declare float @llvm.sqrt.f32(float)", a=a, out=np.zeros(32, "f4"))


@pytest.mark.parametrize("name", FLAGGED)
@pytest.mark.parametrize("where", [".lane", ""])
def test_intrinsics_with_a_constant_operand(check, name, where):
    body = f"""
        %v = load i32, ptr %a{where}
        %r = call i32 @llvm.{name}.i32(i32 %v, i1 false)
        store i32 %r, ptr %out.lane"""

    def want(t, a, out):
        for lane in t.lane:
            out[lane] = FLAGGED[name](int(a[lane if where else 0]))

    a = np.random.default_rng(2).integers(0, 2**32, 32, "u4")
    a[:3] = 12, 0, 2**31
    check(body, want, f"declare i32 @llvm.{name}.i32(i32, i1 immarg)", a=a, out=np.zeros(32, "u4"))


def test_intrinsics_by_element_of_vectors(check):
    """A lane's vector: LLVM's function of as many lanes, once for each element."""
    more = """
        declare <2 x float> @llvm.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)
        declare <2 x i32> @llvm.abs.v2i32(<2 x i32>, i1 immarg)"""
    body = """
        %p = getelementptr <2 x float>, ptr %a, i64 %i
        %v = load <2 x float>, ptr %p
        %w = load <2 x float>, ptr %a
        %r = call <2 x float> @llvm.fma.v2f32(<2 x float> %v, <2 x float> %w, <2 x float> splat (float 2.0))
        %q = getelementptr <2 x float>, ptr %out, i64 %i
        store <2 x float> %r, ptr %q
        %n2 = fptosi <2 x float> %v to <2 x i32>
        %m = call <2 x i32> @llvm.abs.v2i32(<2 x i32> %n2, i1 true)
        %s = getelementptr <2 x i32>, ptr %whole, i64 %i
        store <2 x i32> %m, ptr %s"""

    def want(t, a, out, whole):
        v = a.reshape(32, 2)[t.lane]
        out.reshape(32, 2)[t.lane] = v * a[:2] + 2
        whole.reshape(32, 2)[t.lane] = np.abs(v)

    a = np.arange(-32, 32).astype("f4")
    check(body, want, more, a=a, out=np.zeros(64, "f4"), whole=np.zeros(64, "i4"))


def test_two_types_in_a_name(check):
    """Saturating conversions, classes of floats, comparisons of three ways."""
    more = """
        declare i32 @llvm.fptosi.sat.i32.f32(float)
        declare i16 @llvm.fptoui.sat.i16.f32(float)
        declare i1 @llvm.is.fpclass.f32(float, i32 immarg)
        declare i8 @llvm.scmp.i8.i32(i32, i32)
        declare i8 @llvm.ucmp.i8.i32(i32, i32)"""
    body = """
        %v = load float, ptr %a.lane
        %k = load i32, ptr %b.lane
        %s = call i32 @llvm.fptosi.sat.i32.f32(float %v)
        store i32 %s, ptr %whole.lane
        %u = call i16 @llvm.fptoui.sat.i16.f32(float %v)
        store i16 %u, ptr %short.lane
        %n = call i1 @llvm.is.fpclass.f32(float %v, i32 3)
        %z = zext i1 %n to i8
        store i8 %z, ptr %nan.lane
        %c = call i8 @llvm.scmp.i8.i32(i32 %k, i32 1)
        %d = call i8 @llvm.ucmp.i8.i32(i32 %k, i32 1)
        %e = mul i8 %d, 3
        %f = add i8 %c, %e
        store i8 %f, ptr %order.lane"""

    def want(t, a, b, whole, short, nan, order):
        v, k = a[t.lane], b[t.lane]
        clean = np.nan_to_num(v.astype("f8"), nan=0, posinf=1e30, neginf=-1e30)
        whole[t.lane] = np.clip(np.trunc(clean), -(2**31), 2**31 - 1).astype("i8")
        short[t.lane] = np.clip(np.trunc(clean), 0, 2**16 - 1)
        nan[t.lane] = np.isnan(v)
        order[t.lane] = np.sign(k - 1) + 3 * np.sign(k.view("u4").astype("i8") - 1)

    a = np.linspace(-90000, 90000, 32).astype("f4")
    a[:4] = np.nan, np.inf, -np.inf, 3e9
    memory = {"a": a, "b": (np.arange(32) % 5 - 2).astype("i4")}
    memory |= {"whole": np.zeros(32, "i4"), "short": np.zeros(32, "u2"), "nan": np.zeros(32, "u1")}
    check(body, want, more, **memory, order=np.zeros(32, "i1"))


@pytest.mark.parametrize("where", [".lane", ""])
@pytest.mark.parametrize("operation", ["uadd", "usub", "umul", "sadd", "ssub", "smul"])
def test_intrinsics_with_overflow(check, operation, where):
    """Two results: the number, and whether it did not fit."""
    name = f"llvm.{operation}.with.overflow.i32"
    body = f"""
        %v = load i32, ptr %a{where}
        %w = load i32, ptr %b
        %both = call {{ i32, i1 }} @{name}(i32 %v, i32 %w)
        %r = extractvalue {{ i32, i1 }} %both, 0
        %o = extractvalue {{ i32, i1 }} %both, 1
        %z = zext i1 %o to i32
        store i32 %r, ptr %out.lane
        store i32 %z, ptr %over.lane"""

    def want(t, a, b, out, over):
        for lane in t.lane:
            x, y = int(a[lane if where else 0]), int(b[0])
            if operation[0] == "s":
                x, y = to_signed(x), to_signed(y)
            exact = {"add": x + y, "sub": x - y, "mul": x * y}[operation[1:]]
            out[lane] = exact % 2**32
            over[lane] = exact != (
                to_signed(exact % 2**32) if operation[0] == "s" else exact % 2**32
            )

    a = np.random.default_rng(3).integers(0, 2**32, 32, "u4")
    a[:2] = 1, 2**31 - 1
    zeros = {"out": np.zeros(32, "u4"), "over": np.zeros(32, "u4")}
    more = f"declare {{ i32, i1 }} @{name}(i32, i32)"
    check(body, want, more, a=a, b=np.array([2**31 - 2**20], "u4"), **zeros)


def test_powers_with_an_integer_exponent_are_serialized(check):
    body = """
        %v = load float, ptr %a.lane
        %k = load i32, ptr %b.lane
        %m = and i32 %k, 1
        %r = call float @llvm.powi.f32.i32(float %v, i32 1)
        store float %r, ptr %out.lane"""
    more = "declare float @llvm.powi.f32.i32(float, i32)"

    def want(t, a, b, out):
        out[t.lane] = a[t.lane]

    a = np.arange(32, dtype="f4")
    check(body, want, more, a=a, b=np.ones(32, "u4"), out=np.zeros(32, "f4"))


def test_annotations_are_dropped(check):
    more = """
        declare void @llvm.assume(i1)
        declare void @llvm.lifetime.start.p0(ptr)
        declare void @llvm.lifetime.end.p0(ptr)"""
    body = """
        %own = alloca i32, align 4
        call void @llvm.lifetime.start.p0(ptr %own)
        %v = load i32, ptr %a.lane
        %c = icmp ult i32 %v, 100
        call void @llvm.assume(i1 %c)
        store i32 %v, ptr %own
        %r = load i32, ptr %own
        call void @llvm.lifetime.end.p0(ptr %own)
        store i32 %r, ptr %out.lane"""

    def want(t, a, out):
        out[t.lane] = a[t.lane]

    check(body, want, more, a=np.arange(32, dtype="u4"), out=np.zeros(32, "u4"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%r = call i32 @llvm.sponentry.i32(i32 %lane)", "the intrinsic llvm.sponentry.i32"),
        ("%r = call i32 %a.lane(i32 %lane)", "a call of %a.lane"),
        ("%r = call i32 @llvm.vector.reduce.avg.v4i32(<4 x i32> %v)", "the intrinsic llvm.vector"),
    ],
)
def test_unknown_functions_are_refused(line, message):
    body = f"""
        %p = getelementptr <4 x i32>, ptr %a, i64 %i
        %v = load <4 x i32>, ptr %p
        {line}
        store i32 %r, ptr %out.lane"""
    with pytest.raises(IrError, match=message):
        emit_text(body, a=np.zeros(32, "u4"), out=np.zeros(32, "u4"))
