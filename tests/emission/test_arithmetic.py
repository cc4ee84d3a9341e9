"""Instructions that compute, on what varies from lane to lane and on what does not."""

from __future__ import annotations

import operator
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from emission.launches import ROWS, emitted

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


@pytest.mark.parametrize("operands", OPERANDS)
def test_comparisons(check, operands):
    """Of integers, and of floats with and without an answer for NaN."""
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
            nan = np.isnan(one) | np.isnan(other) if opcode == "fcmp" else np.zeros(len(one), bool)
            if p in ("ord", "uno"):
                found = ~nan if p == "ord" else nan
            else:
                found = RELATIONS[p[-2:]](one, other)
                found = found | nan if p[0] == "u" and opcode == "fcmp" else found & ~nan
            result[t.lane] = found

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
        a &= 0x7BFF  # no NaN, whose bits nobody promises
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


@pytest.mark.parametrize("opcode", ["udiv", "urem", "sdiv", "srem"])
def test_lanes_that_are_not_active_do_not_divide(check, opcode):
    """Theirs may be a division by zero; SIMD-group functions keep the region one of all lanes."""
    body = f"""
        %va = load i32, ptr %a.lane
        %vb = load i32, ptr %b.lane
        %c = icmp ne i32 %vb, 0
        br i1 %c, label %then, label %end
      then:
        %q = {opcode} i32 %va, %vb
        %many = call i32 @mb_vector_sum_u32(i32 1)
        %r = add i32 %q, %many
        store i32 %r, ptr %out.lane
        br label %end
      end:
        ret void"""
    a, b = integers("i32", 8), integers("i32", 9)
    b[1::3] = 0
    signed = opcode[0] == "s"
    function = (SIGNED | UNSIGNED)[opcode]

    def want(t, a, b, out):
        lanes = t.lane[b[t.lane] != 0]
        one, other = a[lanes], b[lanes]
        if signed:
            one, other = one.view("i4"), other.view("i4")
        out[lanes] = function(one, other).astype(one.dtype).view("u4") + np.uint32(len(lanes))

    if check.args[1].width == 32:
        check(body, want, a=a, b=b, out=np.zeros(32, "u4"))


def test_vectors_of_a_lane(check):
    """Arithmetic by elements, elements taken out and put in by known and by varying indices."""
    body = """
        %pa = getelementptr <4 x float>, ptr %a, i64 %i
        %v = load <4 x float>, ptr %pa, align 16
        %k = load i32, ptr %index4.lane
        %twice = fadd <4 x float> %v, %v
        %mixed = shufflevector <4 x float> %twice, <4 x float> %v, <4 x i32> <i32 3, i32 4, i32 1, i32 6>
        %some = extractelement <4 x float> %mixed, i32 %k
        %first = extractelement <4 x float> %mixed, i64 0
        %in = insertelement <4 x float> %mixed, float 100.0, i32 %k
        %fixed = insertelement <4 x float> %in, float %first, i64 2
        store float %some, ptr %out.lane
        %po = getelementptr <4 x float>, ptr %all, i64 %i
        store <4 x float> %fixed, ptr %po, align 16"""
    a = np.arange(128, dtype="f4")

    def want(t, a, index4, out, all):
        for lane in t.lane:
            v = a[4 * lane :][:4]
            mixed = np.array([2 * v[3], v[0], 2 * v[1], v[2]])
            out[lane] = mixed[index4[lane]]
            mixed[index4[lane]] = 100
            mixed[2] = 2 * v[3]
            all[4 * lane :][:4] = mixed if index4[lane] != 0 else [100, *mixed[1:]]

    index4 = np.random.default_rng(1).integers(0, 4, 32, "u4")
    check(body, want, a=a, index4=index4, out=np.zeros(32, "f4"), all=np.zeros(128, "f4"))


def test_a_vector_for_all_lanes_with_an_index_of_each(check):
    body = """
        %v = load <4 x float>, ptr %a, align 16
        %k = load i32, ptr %which.lane
        %one = extractelement <4 x float> %v, i32 %k
        %in = insertelement <4 x float> %v, float 9.0, i32 %k
        %two = extractelement <4 x float> %in, i32 1
        %three = extractelement <4 x float> %v, i32 %n
        %sum = fadd float %one, %two
        %all = fadd float %sum, %three
        store float %all, ptr %out.lane"""
    which = np.random.default_rng(2).integers(0, 4, 32, "u4")

    def want(t, a, which, out, n):
        out[t.lane] = a[which[t.lane]] + np.where(which[t.lane] == 1, 9, a[1]) + a[n]

    check(body, want, a=np.arange(4, dtype="f4"), which=which, out=np.zeros(32, "f4"), n=2)


def test_vectors_chosen_by_a_vector_of_conditions(check):
    body = """
        %pa = getelementptr <2 x i32>, ptr %a, i64 %i
        %v = load <2 x i32>, ptr %pa, align 8
        %c = icmp ult <2 x i32> %v, splat (i32 20)
        %r = select <2 x i1> %c, <2 x i32> %v, <2 x i32> <i32 -1, i32 -2>
        %c0 = extractelement <2 x i1> %c, i64 0
        %q = select i1 %c0, <2 x i32> %r, <2 x i32> zeroinitializer
        %po = getelementptr <2 x i32>, ptr %out, i64 %i
        store <2 x i32> %q, ptr %po, align 8"""

    def want(t, a, out):
        v = a.reshape(-1, 2)[t.lane]
        r = np.where(v < 20, v, [[2**32 - 1, 2**32 - 2]])
        out.reshape(-1, 2)[t.lane] = np.where(v[:, :1] < 20, r, 0)

    a = np.random.default_rng(6).integers(0, 40, 64, "u4")
    check(body, want, a=a, out=np.full(64, 7, "u4"))


@pytest.mark.parametrize("condition", ["%c", "%u"], ids=["varying", "uniform"])
def test_choices(check, condition):
    body = f"""
        %v = load i32, ptr %a.lane
        %w = load i32, ptr %b
        %c = icmp sgt i32 %v, %w
        %u = icmp sgt i32 %w, 5
        %r = select i1 {condition}, i32 %v, i32 %w
        store i32 %r, ptr %out.lane"""

    def want(t, a, b, out):
        chosen = a[t.lane] > b[0] if condition == "%c" else b[0] > 5
        out[t.lane] = np.where(chosen, a[t.lane], b[0])

    check(body, want, a=np.arange(32, dtype="i4"), b=np.array([11], "i4"), out=np.zeros(32, "i4"))


def test_structs(check):
    """Parts put in and taken out, also of structs within structs."""
    body = """
        %v = load i32, ptr %a.lane
        %w = load float, ptr %b.lane
        %s1 = insertvalue { i32, { float, [2 x i16] }, i64 } poison, i32 %v, 0
        %s2 = insertvalue { i32, { float, [2 x i16] }, i64 } %s1, float %w, 1, 0
        %t = trunc i32 %v to i16
        %s3 = insertvalue { i32, { float, [2 x i16] }, i64 } %s2, i16 %t, 1, 1, 1
        %in = extractvalue { i32, { float, [2 x i16] }, i64 } %s3, 1
        %again = insertvalue { i32, { float, [2 x i16] }, i64 } %s3, { float, [2 x i16] } %in, 1
        %x0 = extractvalue { i32, { float, [2 x i16] }, i64 } %again, 0
        %x1 = extractvalue { float, [2 x i16] } %in, 0
        %x2 = extractvalue { i32, { float, [2 x i16] }, i64 } %again, 1, 1, 1
        %wide = zext i16 %x2 to i32
        %sum = add i32 %x0, %wide
        store i32 %sum, ptr %out.lane
        store float %x1, ptr %floats.lane"""

    def want(t, a, b, out, floats):
        out[t.lane] = a[t.lane] + (a[t.lane] & 0xFFFF)
        floats[t.lane] = b[t.lane]

    a = integers("i32", 11)
    b = np.arange(32, dtype="f4")
    check(body, want, a=a, b=b, out=np.zeros(32, "u4"), floats=np.zeros(32, "f4"))


def test_a_comparison_with_the_bound_of_a_row_looks_at_its_ends():
    """Contiguous indices below a bound: two comparisons of one value each, until lanes do part."""
    body = """
        %c = icmp ult i32 %x, %n
        br i1 %c, label %then, label %end
      then:
        %q = getelementptr i32, ptr %out, i64 %i
        store i32 1, ptr %q
        br label %end
      end:
        ret void"""
    text = emitted(body, out=np.zeros(32, "u4"), n=5)
    first = text[: text.index("together")]
    assert first.count("icmp ult i32") == 2


@pytest.mark.parametrize("n", [0, 16, 17, 30, 47, 48, 49, -1])
@pytest.mark.parametrize("relation", ["ult", "slt", "ugt", "sge", "eq", "ne"])
def test_bounds_of_rows(check_form, relation, n):
    body = f"""
        %c = icmp {relation} i32 %x, %n
        br i1 %c, label %then, label %end
      then:
        store i32 1, ptr %out.lane
        br label %end
      end:
        ret void"""
    compare = RELATIONS[relation[-2:]]

    def want(t, out, n):
        bound = int(n) % 2**32 if relation[0] == "u" else int(n)
        out[t.lane[compare(t.x, bound)]] = 1

    check_form(ROWS, body, want, out=np.zeros(32, "u4"), n=n)


@pytest.mark.parametrize("start", [2**32 - 60, 2**32 - 16 - 5, 2**31 - 16 - 5, -(2**31) - 20])
@pytest.mark.parametrize("relation", ["ult", "slt", "uge"])
def test_bounds_of_rows_that_wrap(check_form, relation, start):
    """Where the numbers of lanes wrap, the ends say nothing of those between them."""
    body = f"""
        %v = add i32 %x, %start
        %c = icmp {relation} i32 %v, 100
        br i1 %c, label %then, label %end
      then:
        store i32 1, ptr %out.lane
        br label %end
      end:
        ret void"""
    compare = RELATIONS[relation[-2:]]

    def want(t, out, start):
        values = (t.x + start) % 2**32
        if relation[0] == "s":
            values = np.where(values < 2**31, values, values - 2**32)
        out[t.lane[compare(values, 100)]] = 1

    start = start % 2**32
    start = start - 2**32 if start >= 2**31 else start
    check_form(ROWS, body, want, out=np.zeros(32, "u4"), start=start)
