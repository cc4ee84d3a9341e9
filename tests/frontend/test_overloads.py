import numpy as np
import pytest
from frontend.address_spaces import HEADER

from metalbench import _core
from metalbench._core import CompileError
from metalbench.msl.frontend.address_spaces import merge_overloads
from metalbench.msl.frontend.lower import lower


def list_dropped(source, text):
    parsed = source(text)
    removed, collisions = merge_overloads(parsed.tokens, parsed.declarations)
    return [each.name for each in removed], len(collisions)


@pytest.mark.parametrize(
    "text",
    [
        "void g(device int* a) { *a = 1; } void g(threadgroup int* a) { *a = 1; }",
        "template <typename T> T g(const device T* a) { return *a; }"
        "template <typename U> U g(U const constant* a) { return *a; }",
        "template <typename T> struct P<device T*> { using t = T; };"
        "template <typename T> struct P<thread T*> { using t = T; };",
        "struct C { C() = default; C() threadgroup = default; };",
        "struct C { float x; C(float a) thread : x(a) {} C(float a) constant : x(a) {} };",
        "struct C { int g() const device { return 1; } int g() const constant { return 1; } };",
    ],
)
def test_merge_overloads_of_equal_bodies(source, text):
    names, collisions = list_dropped(source, text)
    assert (len(names), collisions) == (1, 0)


@pytest.mark.parametrize(
    "text",
    [
        "void g(device int* a) { } void g(device uint* a) { }",
        "void g(device int* a) { } void g(constant int* a) { }",
        "template <typename T> enable_if_t<a<T>, int> g(device T* x) { return 1; }"
        "template <typename T> enable_if_t<b<T>, int> g(device T* x) { return 1; }",
        "struct A { void g(device int* a) { } }; struct B { void g(device int* a) { } };",
        "template <> struct L<int> { static constexpr constant int m = 1; };"
        "template <> struct L<uint> { static constexpr constant int m = 2; };",
        "void g(device int* a); void g(device int* a) { }",
    ],
)
def test_merge_overloads_keeps_different_signatures(source, text):
    assert list_dropped(source, text) == ([], 0)


DIFFERENT = """int g(device int* a) { return 1; }
int g(threadgroup int* a) { return 2; }
kernel void f(device int* a) { *a = CALL; }"""


def test_address_spaces_stay_where_different_bodies_are_reached(source):
    lowered = lower(source(DIFFERENT, CALL="g(a)"), "f", {})
    assert lowered.spaces
    assert "return 1" in lowered.code.text
    assert "return 2" in lowered.code.text


def test_unused_address_spaces_are_removed(source):
    lowered = lower(source(DIFFERENT, CALL="3"), "f", {})
    assert not lowered.spaces
    assert "opencl" not in lowered.code.text


@pytest.mark.parametrize(("other", "spaces"), [("*this", True), ("b", False)])
def test_operators_of_a_used_record(source, other, spaces):
    text = f"""struct S {{ int a; S operator+(S b) const {{ return b; }}
    S operator+(S b) const device {{ return {other}; }} }};
    kernel void f(device S* a) {{ a[0] = a[0] + a[1]; }}"""
    assert lower(source(text), "f", {}).spaces == spaces


def test_ambiguous_overloads_are_an_error_if_reachable(source):
    text = """struct S { int a; S() thread { a = 1; }
    S() threadgroup { a = 2; } };
    kernel void f(device int* a) { *a = CALL; }"""
    message = r"kernel\.metal:2:5: error: S has another body than .*kernel\.metal:1:19"
    with pytest.raises(CompileError, match=message):
        lower(source(text, CALL="S().a"), "f", {})
    assert not lower(source(text, CALL="3"), "f", {}).spaces


OVERLOADED = {
    "a helper": "int f(int a) { return a + 1; }\n{kernel} *a = f(2); }",
    "a helper behind it": "int f(int a);\n{kernel} *a = f(2); }\nint f(int a) { return a + 1; }",
    "a template": "template <typename T> T f(T a) { return a + 1; }\n{kernel} *a = f(2); }",
    "a namespace": "namespace n { typedef device int* P; int f(int a) { return a + 1; }\n"
    "[[kernel]] void f(P a [[buffer(0)]], const uint i [[thread_position_in_grid]]) "
    "{ *a = f(2 + int(i)); } }",
    "another kernel": '[[host_name("g")]] kernel void f(device float* a, constant int& b) '
    "{ *a = b; }\n{kernel} *a = 3; }",
    "address spaces": "int g(device int* a) { return 3; } int g(threadgroup int* a) { return 2; }\n"
    "int f(int a) { return a + 1; }\n{kernel} threadgroup int t; *a = g(a) + 0 * g(&t); }",
}


@pytest.mark.parametrize("what", OVERLOADED)
def test_a_kernel_may_be_called_as_other_functions_are(what):
    text = OVERLOADED[what].replace("{kernel}", "kernel void f(device int* a [[buffer(0)]]) {")
    name = "n::f" if what == "a namespace" else "f"
    a = np.zeros(1, np.int32)
    device = _core.open("cpu")
    pipeline = device.compile(f"{HEADER}{text}").pipeline(name)
    device.run([_core.Dispatch(pipeline, {"a": a}, threads_in_grid=1, threads=1)])
    assert a.tolist() == [3]
