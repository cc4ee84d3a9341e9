import pytest

from metalbench.msl import engine
from metalbench.msl.frontend.bindings import bind_parameters, read_max_threads
from metalbench.msl.frontend.lower import lower


def reflect_parameters(source, text, name=None, **literals):
    parsed = source(text)
    kernel = parsed.find_entry_point(name or next(iter(parsed.entry_points)))
    return bind_parameters(parsed, kernel, literals)


@pytest.mark.parametrize(
    "head",
    ["kernel void", "[[kernel]] void", "[[kernel]] [[max_total_threads_per_threadgroup(64)]] void"],
)
def test_all_forms_of_a_kernel(source, head):
    assert list(source(f"{head} f(device float* x) {{}}").entry_points) == ["f"]


def test_functions_and_prototypes_are_not_kernels(source):
    assert not source("void f(device float* x) {} kernel void g(device float* x);").entry_points


TEMPLATE = """
template <typename T, int N = 4>
[[kernel]] void f(device const T* in [[buffer(1)]], device vec<T, N>* out) {}
"""


PARAMETERS = "(device const half* in, device vec<half, 4>*)"


@pytest.mark.parametrize(
    ("instantiation", "name"),
    [
        ('template [[host_name("k")]] [[kernel]] decltype(f<half>) f<half>;', "k"),
        (f'template [[host_name("k")]] kernel void f<half>{PARAMETERS};', "k"),
        (f'template [[host_name("k")]] kernel void f{PARAMETERS};', "k"),
        ('typedef decltype(f<half>) t; template [[host_name("k")]] kernel t f<half>;', "k"),
        ("template [[kernel]] decltype(f<half>) f<half>;", "f<half>"),
    ],
)
def test_all_forms_of_an_instantiation(source, instantiation, name):
    bound = reflect_parameters(source, TEMPLATE + instantiation, name)
    assert [each["type"] for each in bound.arguments] == ["half", "vec<half, 4>"]
    assert [each["index"] for each in bound.arguments] == [1, 0]


def test_host_names_made_of_pieces_are_joined(source):
    text = TEMPLATE + 'template [[host_name("a" "_b")]] [[kernel]] decltype(f<half>) f<half>;'
    assert list(source(text).entry_points) == ["a_b"]


def test_reflected_arguments_have_their_kind(source):
    bound = reflect_parameters(
        source,
        """
        struct Params { int n; };
        kernel void f(device float4* out [[buffer(3)]], const device half* in,
                      const constant Params& p,
                      constant uint* shape, volatile device atomic_uint* count,
                      threadgroup float* tile [[threadgroup(0)]], threadgroup float2* more,
                      constant float4 (&planes)[6], uint3 at [[thread_position_in_grid]],
                      ushort [[thread_index_in_simdgroup]]) {}
        """,
    )
    rows = [
        (
            a["name"],
            a["kind"],
            a["index"],
            a["type"],
            a["address_space"],
            a["access"],
            a["parameter"],
        )
        for a in bound.arguments
    ]
    assert rows == [
        ("out", "buffer", 3, "float4", "device", "read_write", 0),
        ("in", "buffer", 0, "half", "device", "read", 1),
        ("p", "buffer", 1, "Params", "constant", "read", 2),
        ("shape", "buffer", 2, "uint", "constant", "read", 3),
        ("count", "buffer", 4, "atomic_uint", "device", "read_write", 4),
        ("tile", "threadgroup", 0, "float", "threadgroup", "read_write", 5),
        ("more", "threadgroup", 1, "float2", "threadgroup", "read_write", 6),
        ("planes", "buffer", 5, "float4", "constant", "read", 7),
    ]
    assert bound.attributes == [
        {"name": "thread_position_in_grid", "type": "uint3"},
        {"name": "thread_index_in_simdgroup", "type": "ushort"},
    ]


def test_indices_may_be_constants_and_macros(source):
    text = "constant int base = 4; kernel void f(device int* a [[buffer(base + INDEX * 2)]]) {}"
    parsed = source(text, INDEX="3")
    assert bind_parameters(parsed, parsed.find_entry_point("f"), {}).arguments[0]["index"] == 10


def test_max_threads_may_depend_on_the_template(source):
    parsed = source(
        """template <int WM, int WN> [[kernel, max_total_threads_per_threadgroup(WM * WN * 32)]]
        void f(device int* a) {}
        template [[host_name("k")]] [[kernel]] decltype(f<2, 3>) f<2, 3>;"""
    )
    assert read_max_threads(parsed, parsed.find_entry_point("k")) == ("(2) * (3) * 32", 192)


CONDITIONAL = """
constant bool has_mask [[function_constant(7)]];
kernel void f(device float* x,
              device const bool* mask [[buffer(1), function_constant(has_mask)]]) {}
"""


def test_an_argument_whose_constant_is_false_is_absent(source):
    parsed = source(CONDITIONAL)
    with_mask = lower(parsed, "f", {"has_mask": True})
    without = lower(parsed, "f", {7: False})
    assert [each["name"] for each in with_mask.bindings.arguments] == ["x", "mask"]
    assert [each["name"] for each in without.bindings.arguments] == ["x"]
    assert "mb::absent" in without.code.text
    assert "mb::absent" not in with_mask.code.text


def test_a_kernel_in_a_namespace_has_both_names(source):
    parsed = source("namespace n { kernel void f(device int* a) {} }")
    assert parsed.find_entry_point("f") is parsed.find_entry_point("n::f")


def test_plain_type_aliases_are_seen_through(source):
    text = "typedef bfloat bf; using Value = bf; kernel void f(device Value* a, constant bf& b) {}"
    assert [each["type"] for each in reflect_parameters(source, text).arguments] == [
        "bfloat",
        "bfloat",
    ]


def test_conditions_may_be_computed_from_function_constants(source):
    text = """
    constant bool a [[function_constant(0)]];
    constant int n [[function_constant(1)]];
    constant bool both = a && is_function_constant_defined(n);
    kernel void f(device int* x, device int* y [[buffer(1), function_constant(both)]]) {}
    """
    for constants, names in [({"a": 1, "n": 0}, ["x", "y"]), ({"a": 1}, ["x"]), ({"a": 0}, ["x"])]:
        bound = lower(source(text), "f", constants).bindings
        assert [each["name"] for each in bound.arguments] == names


def test_untyped_pointers_are_arguments_too(source):
    text = "kernel void f(device void* a, constant void* b) {}"
    assert [each["type"] for each in reflect_parameters(source, text).arguments] == ["void", "void"]
    assert engine.build(engine.parse(text), "f").path
