"""Computations on varying and uniform operands."""

from __future__ import annotations

import operator
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from vectorize.launches import ROWS

INTEGERS = {f"i{bits}": (f"i{bits // 8}", f"u{bits // 8}") for bits in (8, 16, 32, 64)}
FLOATS = {"half": "f2", "bfloat": ml_dtypes.bfloat16, "float": "f4", "double": "f8"}
# Where the operands come from: each lane's own, or one for all of them.
OPERANDS = {"varying": (".lane", ".lane"), "uniform": ("", ""), "mixed": (".lane", "")}


def trunc_div(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The quotient of numbers that may be any, rounded to zero; of the least one by -1, itself."""
    one, other = np.broadcast_arrays(a, b)
    pairs = zip(one.tolist(), other.tolist(), strict=True)
    found = [abs(x) // abs(y) * (-1) ** ((x < 0) != (y < 0)) for x, y in pairs]
    least = np.iinfo(one.dtype).min
    return np.array(
        [least if each > np.iinfo(one.dtype).max else each for each in found], one.dtype
    )


SIGNED: dict[str, Callable[..., np.ndarray]] = {
    "sdiv": trunc_div,
    "srem": lambda a, b: a - trunc_div(a, b) * b,
    "ashr": lambda a, b: a >> b % (8 * b.dtype.itemsize),
}
UNSIGNED: dict[str, Callable[..., np.ndarray]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "udiv": operator.floordiv,
    "urem": operator.mod,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": lambda a, b: a << b % (8 * b.dtype.itemsize),
    "lshr": lambda a, b: a >> b % (8 * b.dtype.itemsize),
}
RELATIONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def integers(type_: str, seed: int) -> np.ndarray:
    signed, unsigned = INTEGERS[type_]
    limits = np.iinfo(signed)
    ends = np.array([limits.min, limits.max, -1, 1, limits.min + 1, 2, -2, 7], signed)
    values = np.random.default_rng(seed).integers(limits.min, limits.max, 32, signed, endpoint=True)
    values[::3][:8] = ends
    return values.view(unsigned)


def program(type_: str, operations: list[str], operands: str, before: str) -> str:
    """Loads of a and b, and a store of each operation's result."""
    a, b = OPERANDS[operands]
    lines = [f"%va = load {type_}, ptr %a{a}", f"%vb0 = load {type_}, ptr %b{b}", before]
    for name in operations:
        of = "%vc" if name in ("shl", "lshr", "ashr") else "%vb"
        lines += [
            f"%{name} = {name} {type_} %va, {of}",
            f"store {type_} %{name}, ptr %r_{name}.lane",
        ]
    return "\n".join(lines)


@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("type_", INTEGERS)
def test_integers(check, type_, operands):
    signed, unsigned = INTEGERS[type_]
    a, b = integers(type_, 1), integers(type_, 2)
    b[:8][b[:8] == 0] = 1
    b[b == 0] = 3
    # Of the least number by -1 the quotient does not fit, which the instruction alone would fault at.
    a[5], b[5] = np.array([np.iinfo(signed).min, -1], signed).view(unsigned)
    if operands == "uniform":
        a[0], b[0] = a[5], b[5]
    bits = 8 * a.itemsize
    before = f"%vb = or {type_} %vb0, 0\n%vc = and {type_} %vb0, {bits - 1}"
    body = program(type_, [*UNSIGNED, *SIGNED], operands, before)

    def want(t, a, b, **results):
        one = a[t.lane] if operands != "uniform" else np.repeat(a[:1], len(t.lane))
        other = b[t.lane] if operands == "varying" else np.repeat(b[:1], len(t.lane))
        for name, function in UNSIGNED.items():
            results[f"r_{name}"][t.lane] = function(one, other)
        for name, function in SIGNED.items():
            found = function(one.view(signed), other.view(signed)).astype(signed)
            results[f"r_{name}"][t.lane] = found.view(unsigned)

    results = {f"r_{name}": np.zeros(32, unsigned) for name in (*UNSIGNED, *SIGNED)}
    check(body, want, a=a, b=b, **results)


@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("type_", FLOATS)
def test_floats(check, type_, operands):
    dtype = np.dtype(FLOATS[type_])
    rng = np.random.default_rng(3)
    a, b = (rng.normal(0, 3, 32).astype(dtype) for _ in "ab")
    a[1:8] = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, 3.0], dtype)
    b[3:9] = np.array([1.0, 2.0, -0.0, np.nan, np.inf, 0.0], dtype)
    operations = {
        "fadd": operator.add,
        "fsub": operator.sub,
        "fmul": operator.mul,
        "fdiv": operator.truediv,
    }
    body = program(type_, list(operations), operands, f"%vb = fneg {type_} %vb0")

    def want(t, a, b, **results):
        one = a[t.lane] if operands != "uniform" else np.repeat(a[:1], len(t.lane))
        other = b[t.lane] if operands == "varying" else np.repeat(b[:1], len(t.lane))
        for name, function in operations.items():
            results[f"r_{name}"][t.lane] = function(one, -other)

    results = {f"r_{name}": np.zeros(32, dtype) for name in operations}
    check(body, want, a=a, b=b, **results)


def _compare(opcode, predicate, one, other):
    if opcode == "icmp":
        return RELATIONS[predicate[-2:]](one, other)
    nan = np.isnan(one) | np.isnan(other)
    if predicate in ("ord", "uno"):
        return ~nan if predicate == "ord" else nan
    found = RELATIONS[predicate[-2:]](one, other)
    return found | nan if predicate[0] == "u" else found & ~nan


@pytest.mark.parametrize("operands", OPERANDS)
def test_comparisons(check, operands):
    """Compare integers, and floats ordered and unordered."""
    lines, expected = [], {}
    a, b = OPERANDS[operands]
    for type_ in ("i32", "float"):
        lines += [
            f"%{type_}{v} = load {type_}, ptr %{v}{type_[0]}{w}"
            for v, w in zip("ab", (a, b), strict=True)
        ]
    predicates = [("icmp", p, "i32") for p in ("eq", "ne")]
    predicates += [("icmp", s + p, "i32") for s in "us" for p in ("lt", "le", "gt", "ge")]
    predicates += [("fcmp", "o" + p, "float") for p in RELATIONS]
    predicates += [("fcmp", "u" + p, "float") for p in RELATIONS]
    predicates += [("fcmp", p, "float") for p in ("ord", "uno")]
    for opcode, p, type_ in predicates:
        name = f"{opcode}_{p}"
        lines += [
            f"%{name} = {opcode} {p} {type_} %{type_}a, %{type_}b",
            f"%{name}.b = zext i1 %{name} to i8",
            f"store i8 %{name}.b, ptr %r_{name}.lane",
        ]
        expected[f"r_{name}"] = np.full(32, 9, np.uint8)

    def want(t, ai, bi, af, bf, **results):
        def lanes(one, other):
            one = one[t.lane] if operands != "uniform" else np.repeat(one[:1], len(t.lane))
            other = other[t.lane] if operands == "varying" else np.repeat(other[:1], len(t.lane))
            return one, other

        for name, result in results.items():
            opcode, p = name.split("_")[1:]
            one, other = lanes(*((ai, bi) if opcode == "icmp" else (af, bf)))
            if p[0] == "s":
                one, other = one.view(np.int32), other.view(np.int32)
            result[t.lane] = _compare(opcode, p, one, other)

    ai, bi = integers("i32", 1), integers("i32", 2)
    bi[::4] = ai[::4]
    af = np.random.default_rng(4).integers(-2, 2, 32).astype("f4")
    bf = np.random.default_rng(5).integers(-2, 2, 32).astype("f4")
    af[1::8], bf[3::8] = np.nan, np.nan
    check("\n".join(lines), want, ai=ai, bi=bi, af=af, bf=bf, **expected)


CASTS = [
    ("zext", "i8", "i32", lambda v: v.astype("u4")),
    ("sext", "i16", "i64", lambda v: v.view("i2").astype("i8").view("u8")),
    ("trunc", "i64", "i16", lambda v: v.astype("u2")),
    ("fptosi", "float", "i32", lambda v: v.astype("i4").view("u4")),
    ("fptoui", "double", "i32", lambda v: np.abs(v).astype("u4")),
    ("sitofp", "i32", "float", lambda v: v.view("i4").astype("f4")),
    ("uitofp", "i16", "float", lambda v: v.astype("f4")),
    ("fpext", "half", "float", lambda v: v.astype("f4")),
    ("fptrunc", "float", "half", lambda v: v.astype("f2")),
    ("fptrunc", "float", "bfloat", lambda v: v.astype(ml_dtypes.bfloat16)),
    ("bitcast", "float", "i32", lambda v: v.view("u4")),
    ("bitcast", "i16", "half", lambda v: v.view("f2")),
    ("bitcast", "i64", "double", lambda v: v.view("f8")),
]


@pytest.mark.parametrize("uniform", [False, True], ids=["varying", "uniform"])
@pytest.mark.parametrize(
    ("opcode", "of", "to", "function"), CASTS, ids=[" ".join(each[:3]) for each in CASTS]
)
def test_casts(check_form, opcode, of, to, function, uniform):
    dtype = INTEGERS[of][1] if of in INTEGERS else FLOATS[of]
    values = np.arange(1, 33) * 1021
    a = (values * 0.125).astype(dtype) if of in FLOATS else integers(of, 7)
    if of == "i16" and to == "half":
        a &= 0x7BFF  # no NaN, whose bits are undefined
    where = "%a" if uniform else "%a.lane"
    body = f"""
        %v = load {of}, ptr {where}
        %r = {opcode} {of} %v to {to}
        store {to} %r, ptr %out.lane"""
    result = np.zeros(32, INTEGERS[to][1] if to in INTEGERS else FLOATS[to])

    def want(t, a, out):
        out[t.lane] = function(a)[:1] if uniform else function(a)[t.lane]

    check_form(ROWS, body, want, a=a, out=result)


def test_pointers_as_numbers(check):
    """Each lane's own, and one for all."""
    body = """
        %n = ptrtoint ptr %out.lane to i64
        %m = ptrtoint ptr %out to i64
        %d = sub i64 %n, %m
        %q = add i64 %m, %d
        %p = inttoptr i64 %q to ptr
        %v = trunc i64 %d to i32
        store i32 %v, ptr %p"""

    def want(t, out):
        out[t.lane] = 4 * t.lane

    check(body, want, out=np.full(32, 77, np.uint32))


def test_freeze_and_fneg(check):
    body = """
        %v = load float, ptr %a.lane
        %f = freeze float %v
        %n = fneg float %f
        store float %n, ptr %out.lane"""

    def want(t, a, out):
        out[t.lane] = -a[t.lane]

    check(body, want, a=np.arange(32, dtype="f4"), out=np.zeros(32, "f4"))
