"""Sizes of vectors, matrices and arrays are deduced as any integer type."""

import pytest

DECLARATIONS = """
    template <typename T, {size} N> constexpr int ofVector(vec<T, N>) {{ return N; }}
    template <typename T, {size} N> constexpr int ofPacked(thread const packed_vec<T, N>&) {{ return N; }}
    template <{size} N> constexpr int ofFloats(vec<float, N>) {{ return N; }}
    template <typename T, {size} C, {size} R> constexpr int ofMatrix(matrix<T, C, R>) {{
      return 10 * C + R;
    }}
    template <typename T, {size} N> constexpr int ofArray(array<T, N>) {{ return N; }}
    template <typename T, {size} N> constexpr vec<T, N> doubled(vec<T, N> v) {{ return v + v; }}
    template <typename T, {size} N, {size} M>
    constexpr vec<T, N + M> joined(vec<T, N> a, vec<T, M> b) {{ return vec<T, N + M>(a, b); }}
    template <typename T> struct Of {{ static constexpr constant int count = 1; }};
    template <typename T, {size} N> struct Of<vec<T, N>> {{
      static constexpr constant int count = N;
      static_assert(is_same_v<decltype(N), {size}>);
    }};
    static_assert(ofVector(half3(1)) == 3 && ofPacked(packed_char4(1)) == 4);
    static_assert(ofFloats(float2(1)) == 2 && ofMatrix(float4x3(1)) == 43);
    static_assert(ofArray(array<float2, 5>{{}}) == 5 && Of<float3>::count == 3);
    static_assert(all(doubled(int2(1, 2)) == int2(2, 4)) && joined(float2(1), float2(2)).w == 2);
    static_assert(ofVector<float, 4>(1.0f) == 4 && ofFloats<({size})3>(1.0f) == 3);
"""


@pytest.mark.parametrize("size", ["int", "uint", "short", "ushort", "size_t", "long"])
def test_sizes_are_deduced(compiles, size):
    compiles(DECLARATIONS.format(size=size))


def test_arguments_of_arrays_are_deduced(compiles):
    declarations = """
        constant constexpr array three = {1, 2, 3};
        static_assert(is_same_v<decltype(three), const array<int, 3>> && three[2] == 3);
    """
    compiles(declarations, macros={"__METAL_VERSION__": "400"})


def test_array_may_name_a_parameter(compiles):
    compiles("""
        int both(array<int, 0> none, bool array) { return none.size() + none.empty() + array; }
        static_assert(is_same_v<vec<float, 4>, vec<float, 4u>> && is_same_v<vec<float, 4>, float4>);
    """)


def test_a_user_type_may_be_named_array(compiles):
    compiles("""
        namespace own { struct array { int x; }; constexpr array make() { array a = {4}; return a; } }
        static_assert(own::make().x == 4);
    """)


def test_an_array_of_an_incomplete_type_may_be_pointed_to(compiles):
    compiles("struct Node { thread array<Node, 2>* children; }; static_assert(sizeof(Node) == 8);")
