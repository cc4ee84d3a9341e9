"""Chapter 2 and the header <metal_type_traits>: types, conversions, constants."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from msl.conformance import FLOATS, INFOS, INTEGERS, TYPES, Call, edges, integers, run

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
INVENTORY = tomllib.loads((Path(__file__).parent / "inventory.toml").read_text())


def _conversions(kind: str) -> np.ndarray:
    if kind in FLOATS:
        x = edges(kind)
        return x[np.isfinite(x)]
    return integers(kind, 256) if kind != "bool" else np.array([False, True] * 8)


def _bits(target: str, width: int) -> str:
    """The argument converted to a type, as the bits of the result."""
    size = np.dtype(TYPES[target]).itemsize
    unsigned = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}[size]
    if width == 1:
        value = f"{target}(a)"
        return f"ulong({value})" if target == "bool" else f"ulong(as_type<{unsigned}>({value}))"
    value = f"vec<{target}, {width}>(a)"
    if target != "bool":
        value = f"as_type<vec<{unsigned}, {width}>>({value})"
    return f"vec<ulong, {width}>({value})"


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("kind", TYPES)
def test_conversions_to_every_type(cpu, kind, width):
    x = _conversions(kind)
    calls = [Call(target, _bits(target, width), np.abs) for target in TYPES]
    results = run(cpu, calls, [x], kind=kind, width=width, result="ulong")
    for target, bits in zip(TYPES, results, strict=True):
        unsigned = np.dtype(f"u{np.dtype(TYPES[target]).itemsize}")
        got = bits.astype(unsigned).view(TYPES[target])
        wide = x.astype(np.float64) if kind in FLOATS else x.astype(object)
        sure = np.ones(len(x), bool)
        if target in FLOATS:
            with np.errstate(all="ignore"):
                want = wide.astype(np.float64).astype(np.float32).astype(TYPES[target])
            if target != "float":
                # NumPy rounds large integers twice on the way.
                sure = np.abs(wide.astype(np.float64)) < 2**24
        elif target == "bool":
            want = wide != 0
        else:
            ends = np.iinfo(TYPES[target])
            numbers = [int(v) for v in wide]
            if kind in FLOATS:
                sure = np.array([ends.min <= v <= ends.max for v in numbers])
            size = 1 << ends.bits
            want = np.array([(v - ends.min) % size + ends.min for v in numbers], TYPES[target])
        np.testing.assert_array_equal(
            got[:, sure], np.tile(want[sure], (width, 1)), err_msg=f"{kind} to {target}"
        )


PAIRS = [("float", "uint"), ("int", "float"), ("half", "ushort"), ("ulong", "long")]


@pytest.mark.parametrize(("kind", "target"), PAIRS)
def test_as_type(cpu, kind, target):
    x = _conversions(kind)
    for width in (1, 2, 3, 4):
        form = f"as_type<{target if width == 1 else f'vec<{target}, {width}>'}>(a)"
        got = run(cpu, [Call(form, form, np.abs)], [x], kind=kind, width=width, result=target)[0]
        bits = x.view(f"u{x.itemsize}")
        np.testing.assert_array_equal(got.view(bits.dtype), np.tile(bits, (width, 1)))


def test_the_type_of_null_pointers(compiles):
    compiles("""
        constexpr bool is_null(metal::nullptr_t) { return true; }
        constexpr bool is_null(thread const int*) { return false; }
        static_assert(is_null(nullptr) && is_same_v<nullptr_t, decltype(nullptr)>);
    """)


VALUES = {
    "E": math.e,
    "LOG2E": math.log2(math.e),
    "LOG10E": math.log10(math.e),
    "LN2": math.log(2),
    "LN10": math.log(10),
    "PI": math.pi,
    "PI_2": math.pi / 2,
    "PI_4": math.pi / 4,
    "1_PI": 1 / math.pi,
    "2_PI": 2 / math.pi,
    "2_SQRTPI": 2 / math.sqrt(math.pi),
    "SQRT2": math.sqrt(2),
    "SQRT1_2": math.sqrt(0.5),
}
SUFFIXES = {"float": "F", "half": "H", "bfloat": "BF"}


@pytest.mark.parametrize("kind", FLOATS)
def test_constants(cpu, kind):
    suffix = SUFFIXES[kind]
    names = [f"M_{name}_{suffix}" for name in VALUES]
    names += [f"HUGE_VAL{suffix}", "MAXFLOAT" if kind == "float" else f"MAX{kind.upper()}"]
    calls = [Call(name, name, np.abs) for name in names]
    got = run(cpu, calls, [np.ones(1, TYPES[kind])], kind=kind)[:, 0, 0]
    want = [*VALUES.values(), math.inf, float(INFOS[kind].max)]
    np.testing.assert_array_equal(got, np.array(want, np.float32).astype(TYPES[kind]))


def test_arrays(compiles):
    compiles("""
        constant constexpr array<int, 3> a = {1, 2, 3};
        constexpr int total() {
          int sum = 0;
          for (auto x : a) sum += x;
          array<int, 3> b = a;
          b.fill(4);
          b[1] += *a.data() + *a.begin() + *(a.end() - 1);
          return sum + b[0] + b.back() + b[1] + (b != a) + (a == a);
        }
        static_assert(total() == 6 + 8 + 9 + 2 && a.size() == 3 && !a.empty() && a.front() == 1);
        constant constexpr float raw[] = {1, 2, 3};
        constant constexpr auto r = make_array_ref(raw);
        static_assert(r.size() == 3 && r[2] == 3 && make_array_ref(raw, 2).size() == 2);
        static_assert(array_ref<int>(a)[1] == 2);
        constant constexpr uniform<int> u = make_uniform(3);
        static_assert(u + 1 == 4);
    """)


TRAITS = """
    struct Base { int x; };
    struct Derived : Base {};
    enum E : ushort { e };
    union U { int x; };
    #define BOTH(name, yes, no) static_assert(name<yes>::value && !name##_v<no>);
    BOTH(is_void, void, int) BOTH(is_integral, int, float) BOTH(is_floating_point, half, int)
    BOTH(is_integral, int4, half4) BOTH(is_integral, const bool2, float2)
    BOTH(is_floating_point, float4, int4) BOTH(is_floating_point, const volatile bfloat3, uchar3)
    BOTH(is_scalar, half, int2) BOTH(is_vector, const ulong2, ulong)
    static_assert(is_integral_v<short3> && is_floating_point_v<half2> && is_scalar_v<uint>);
    static_assert(is_vector_v<bool4> && !is_scalar<float2>::value && !is_vector<half>::value);
    BOTH(is_arithmetic, bfloat, float2) BOTH(is_scalar, int, float4) BOTH(is_fundamental, int, Base)
    BOTH(is_compound, Base, int) BOTH(is_object, int, thread int&) BOTH(is_enum, E, int)
    BOTH(is_class, Base, int) BOTH(is_union, U, Base) BOTH(is_array, int[2], int)
    BOTH(is_pointer, thread int*, int) BOTH(is_reference, thread int&, int)
    BOTH(is_lvalue_reference, thread int&, thread int&&)
    BOTH(is_rvalue_reference, thread int&&, thread int&) BOTH(is_function, int(int), int)
    BOTH(is_const, const int, int) BOTH(is_volatile, volatile int, int) BOTH(is_signed, half, uint)
    BOTH(is_unsigned, ulong, int) BOTH(is_trivial, Base, void) BOTH(is_trivially_copyable, U, void)
    BOTH(is_standard_layout, Base, void) BOTH(is_pod, Base, void) BOTH(is_vector, float3, float)
    static_assert(is_base_of_v<Base, Derived> && !is_base_of<Derived, Base>::value);
    static_assert(is_convertible_v<int, float> && !is_convertible<Base, int>::value);
    static_assert(is_constructible_v<float2, float, float> && !is_constructible_v<int, Base>);
    #define SAME(...) static_assert(is_same_v<__VA_ARGS__>);
    SAME(remove_const_t<const int>, int) SAME(remove_volatile_t<volatile int>, int)
    SAME(remove_cv_t<const volatile int>, int) SAME(remove_reference_t<thread int&>, int)
    SAME(remove_pointer_t<thread int*>, int) SAME(remove_extent_t<int[3]>, int)
    SAME(decay_t<thread const int&>, int)
    SAME(add_pointer_t<int>, thread int*) SAME(add_const_t<int>, const int)
    SAME(make_signed_t<uint>, int)
    SAME(make_unsigned_t<char>, uchar) SAME(underlying_type_t<E>, ushort)
    SAME(common_type_t<int, float>, float) SAME(decltype(declval<int>()), thread int&&)
    SAME(conditional_t<false, int, float>, float) SAME(enable_if_t<true, int>, int)
    static_assert(integral_constant<int, 3>::value == 3);
    static_assert(conjunction<true_type, true_type>::value);
    static_assert(disjunction<false_type, true_type>::value && negation<false_type>::value);
"""


def test_type_traits(compiles):
    compiles(TRAITS)


def _name_types(section: str) -> set[str]:
    return set(INVENTORY[section]["functions"])


# Constants and traits are named in the tests above one by one; VALUES and TRAITS say which.
COVERS = {
    "2.1 Scalar types": {"conversion", "as_type", "literals", "size_t", "ptrdiff_t"},
    "2.10 Uniform type": {"uniform<T>", "make_uniform"},
    "2.12 Arrays": _name_types("2.12 Arrays"),
    "6 Type traits": {name for name in _name_types("6 Type traits") if name in TRAITS},
    "6.5 Math constants": {f"M_{name}" for name in VALUES}
    | {
        "MAXFLOAT",
        "HUGE_VALF",
        "INFINITY",
        "NAN",
        "MAXHALF",
        "HUGE_VALH",
        "MAXBFLOAT",
        "HUGE_VALBF",
    },
}


def test_sizes_of_scalar_types(compiles):
    compiles("""
        static_assert(sizeof(size_t) == 8 && sizeof(ptrdiff_t) == 8 && !is_signed_v<size_t>);
        static_assert(sizeof(bool) == 1 && sizeof(char) == 1 && sizeof(short) == 2);
        static_assert(sizeof(half) == 2 && sizeof(bfloat) == 2 && sizeof(float) == 4);
        static_assert(isinf(INFINITY) && isnan(NAN) && sizeof(NAN) == 4);
    """)


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("kind", INTEGERS)
def test_conversions_out_of_range_saturate(cpu, kind, width):
    x = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e20, -1e20, -0.75] * 8, np.float32)
    call = Call(kind, f"vec<{kind}, 3>(a)" if width > 1 else f"{kind}(a)", np.abs)
    got = run(cpu, [call], [x], kind="float", width=width, result=kind)[0]
    ends = np.iinfo(TYPES[kind])
    want = [0, ends.max, ends.min, ends.max, ends.min, ends.max, ends.min, 0]
    np.testing.assert_array_equal(got, np.tile(np.array(want * 8, TYPES[kind]), (width, 1)))
