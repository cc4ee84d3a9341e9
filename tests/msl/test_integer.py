"""Integer functions, pack and unpack, against Python's own integers."""

from __future__ import annotations

import numpy as np
import pytest
from msl.conformance import Call, run

KINDS = {
    "char": np.int8,
    "uchar": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "long": np.int64,
    "ulong": np.uint64,
}


def samples(kind: str, count: int = 3) -> list[np.ndarray]:
    """`count` shuffles of the type's ends and of values of every length."""
    dtype = KINDS[kind]
    ends = np.iinfo(dtype)
    generator = np.random.default_rng(5)
    values = {ends.min, ends.max, 0, 1, ends.max // 2, ends.max // 3}
    for bits in range(1, ends.bits):
        values |= {min(int(generator.integers(0, 1 << bits)) + 1, ends.max)}
    values |= {-value for value in values if ends.min < 0 and value <= ends.max}
    values = np.array(sorted(v for v in values if ends.min <= v <= ends.max), dtype)
    return [generator.permutation(np.tile(values, 8)) for _ in range(count)]


def clip(value: int, kind: str) -> int:
    ends = np.iinfo(KINDS[kind])
    return max(ends.min, min(ends.max, value))


def wrap(value: int, kind: str) -> int:
    ends = np.iinfo(KINDS[kind])
    return (value - ends.min) % (1 << ends.bits) + ends.min


def bits_of(kind: str) -> int:
    return np.iinfo(KINDS[kind]).bits


def to_unsigned(value: int, kind: str) -> int:
    return value % (1 << bits_of(kind))


def reverse(value: int, kind: str) -> int:
    return int(format(to_unsigned(value, kind), f"0{bits_of(kind)}b")[::-1], 2)


ORACLES = {
    "abs(a)": lambda k, a, b, c: wrap(abs(a), k),
    "clz(a)": lambda k, a, b, c: bits_of(k) - to_unsigned(a, k).bit_length(),
    "ctz(a)": lambda k, a, b, c: (
        ((u := to_unsigned(a, k)) & -u).bit_length() - 1 if a else bits_of(k)
    ),
    "popcount(a)": lambda k, a, b, c: to_unsigned(a, k).bit_count(),
    "reverse_bits(a)": lambda k, a, b, c: wrap(reverse(a, k), k),
    "min(a, b)": lambda k, a, b, c: min(a, b),
    "max(a, b)": lambda k, a, b, c: max(a, b),
    "min3(a, b, c)": lambda k, a, b, c: min(a, b, c),
    "max3(a, b, c)": lambda k, a, b, c: max(a, b, c),
    "median3(a, b, c)": lambda k, a, b, c: sorted((a, b, c))[1],
    "clamp(a, min(b, c), max(b, c))": lambda k, a, b, c: max(min(b, c), min(max(b, c), a)),
    "addsat(a, b)": lambda k, a, b, c: clip(a + b, k),
    "subsat(a, b)": lambda k, a, b, c: clip(a - b, k),
    "hadd(a, b)": lambda k, a, b, c: (a + b) >> 1,
    "rhadd(a, b)": lambda k, a, b, c: (a + b + 1) >> 1,
    "mulhi(a, b)": lambda k, a, b, c: (a * b) >> bits_of(k),
    "madhi(a, b, c)": lambda k, a, b, c: wrap(((a * b) >> bits_of(k)) + c, k),
    "madsat(a, b, c)": lambda k, a, b, c: clip(a * b + c, k),
    "rotate(a, b)": lambda k, a, b, c: wrap(
        (to_unsigned(a, k) << to_unsigned(b, k) % bits_of(k))
        | (to_unsigned(a, k) >> (bits_of(k) - to_unsigned(b, k) % bits_of(k))),
        k,
    ),
}


COVERS = {
    "6.3 Integer functions": {expression.split("(")[0] for expression in ORACLES}
    | {"absdiff", "mul24", "mad24", "extract_bits", "insert_bits"}
}


# Every type alone and as vectors of one width, and all widths of one type: the functions are
# templates of both, and each of these takes seconds to compile.
FORMS = [(kind, 1) for kind in KINDS]
FORMS += [(kind, 2 + at % 3) for at, kind in enumerate(KINDS)] + [("uint", 2), ("uint", 3)]


@pytest.mark.parametrize(("kind", "width"), list(dict.fromkeys(FORMS)))
def test_integer_functions(cpu, kind, width):
    inputs = samples(kind)
    calls = [Call(expression, expression, np.abs) for expression in ORACLES]
    calls.append(Call("absdiff", "as_type<V>(absdiff(a, b))", np.abs))
    got = run(cpu, calls, inputs, kind=kind, width=width)
    triples = [tuple(map(int, values)) for values in zip(*inputs, strict=True)]
    oracles = [*ORACLES.values(), lambda k, a, b, c: wrap(abs(a - b), k)]
    for call, oracle, values in zip(calls, oracles, got, strict=True):
        want = np.array([oracle(kind, *triple) for triple in triples], KINDS[kind])
        np.testing.assert_array_equal(values, np.tile(want, (width, 1)), err_msg=call.name)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["int", "uint"])
def test_products_of_24_bits(cpu, kind, width):
    low, high = (-(1 << 23), 1 << 23) if kind == "int" else (0, 1 << 24)
    a, b = np.random.default_rng(6).integers(low, high, (2, 1024)).astype(KINDS[kind])
    c = samples(kind)[0].repeat(4)[:1024].copy()
    calls = [Call("mul24", "mul24(a, b)", np.abs), Call("mad24", "mad24(a, b, c)", np.abs)]
    product, total = run(cpu, calls, [a, b, c], kind=kind, width=width)
    np.testing.assert_array_equal(product, np.tile(a * b, (width, 1)))
    np.testing.assert_array_equal(total, np.tile(a * b + c, (width, 1)))


@pytest.mark.parametrize("width", [2, 3, 4])
def test_bit_fields_of_vectors(cpu, width):
    a, b, _ = samples("uint")
    calls = [
        Call("extract_bits", "extract_bits(a, 5, 9)", np.abs),
        Call("insert_bits", "insert_bits(a, b, 5, 9)", np.abs),
        Call("insert_bits", "insert_bits(a, b, 5, 0)", np.abs),
    ]
    extracted, inserted, same = run(cpu, calls, [a, b], kind="uint", width=width)
    mask = np.uint32(0x1FF << 5)
    np.testing.assert_array_equal(extracted, np.tile(a >> 5 & 0x1FF, (width, 1)))
    np.testing.assert_array_equal(inserted, np.tile((a & ~mask) | (b << 5 & mask), (width, 1)))
    np.testing.assert_array_equal(same, np.tile(a, (width, 1)))


@pytest.mark.parametrize("kind", ["int", "uint", "ushort", "long"])
def test_bit_fields(elementwise, kind):
    a, b, _ = samples(kind)
    width = bits_of(kind)
    offset = (np.arange(len(a)) * 7 % width).astype(np.uint32)
    before = f"uint n = min(5u, {width}u - c);"
    got = elementwise("extract_bits(a, c, n)", a, b, offset, result=kind, before=before)
    inserted = elementwise("insert_bits(a, b, c, n)", a, b, offset, result=kind, before=before)
    for i in range(len(a)):
        at, n = int(offset[i]), min(5, width - int(offset[i]))
        field = to_unsigned(int(a[i]), kind) >> at & ((1 << n) - 1)
        if np.iinfo(KINDS[kind]).min < 0 and field >> (n - 1):
            field -= 1 << n
        assert got[i] == field
        mask = ((1 << n) - 1) << at
        whole = (to_unsigned(int(a[i]), kind) & ~mask) | (to_unsigned(int(b[i]), kind) << at & mask)
        assert inserted[i] == wrap(whole, kind)


def test_absdiff_is_unsigned(elementwise):
    a, b, _ = samples("int")
    got = elementwise("absdiff(a, b)", a, b, result="uint")
    np.testing.assert_array_equal(got, np.abs(a.astype(np.int64) - b).astype(np.uint32))


def test_pack_rounds_and_clamps(elementwise):
    x = np.linspace(-1.5, 1.5, 301).astype(np.float32)
    unorm = elementwise("pack_float_to_unorm4x8(float4(a, 0, 1, a))", x, result="uint")
    byte = np.rint(np.clip(x, 0, 1) * np.float32(255)).astype(np.uint32)
    np.testing.assert_array_equal(unorm, byte | 255 << 16 | byte << 24)
    snorm = elementwise("pack_float_to_snorm2x16(float2(a, 1))", x, result="uint")
    short = np.rint(np.clip(x, -1, 1) * np.float32(32767)).astype(np.int32) & 0xFFFF
    np.testing.assert_array_equal(snorm, short.astype(np.uint32) | 32767 << 16)


@pytest.mark.parametrize("kind", ["unorm4x8", "snorm4x8", "unorm2x16", "snorm2x16", "unorm10a2"])
def test_unpack_inverts_pack(elementwise, kind):
    bits = np.random.default_rng(6).integers(0, 1 << 32, 4096, dtype=np.uint64).astype(np.uint32)
    again = elementwise(f"pack_float_to_{kind}(unpack_{kind}_to_float(a))", bits, result="uint")
    width = {"4x8": 8, "2x16": 16, "0a2": 10}[kind[5:]] if kind != "unorm10a2" else 10
    if kind.startswith("snorm"):
        # The most negative value means the same as the next.
        lowest = 1 << (width - 1)
        shifts = range(0, 32, width)
        for shift in shifts:
            part = bits >> shift & ((1 << width) - 1)
            bits = bits + np.where(part == lowest, 1 << shift, 0).astype(np.uint32)
    np.testing.assert_array_equal(again, bits)


def test_float_to_integer_matrix_functions(compiles):
    compiles("""
        constant constexpr float2x2 m(1, 2, 3, 4);
        static_assert(m[1].x == 3 && all(m * float2(1, 1) == float2(4, 6)));
        static_assert(all(float2(1, 1) * m == float2(3, 7)) && determinant(m) == -2);
        static_assert(transpose(m) == float2x2(float2(1, 3), float2(2, 4)));
        static_assert(m * float2x2(1.0f) == m && (m + m) == m * 2.0f);
        static_assert(determinant(float3x3(2.0f)) == 8 && determinant(float4x4(2.0f)) == 16);
        constant constexpr float4x4 large(float4(0, 1, 0, 0), float4(1, 0, 0, 0), float4(0, 0, 3, 0),
                                 float4(5, 5, 5, 2));
        static_assert(determinant(large) == -6);
        static_assert(all(cross(float3(1, 0, 0), float3(0, 1, 0)) == float3(0, 0, 1)));
        static_assert(dot(float3(1, 2, 3), float3(4, 5, 6)) == 32);
        constant constexpr float2x3 tall(float3(1, 2, 3), float3(4, 5, 6));
        static_assert(all(tall * float2(1, 10) == float3(41, 52, 63)));
    """)
