"""Test messages about wrong kernels: Metal's names, no lines of the headers, the cause."""

import pytest

from metalbench._core import CompileError, Error, MachineError
from metalbench.msl import engine
from metalbench.msl.toolchain import compile
from metalbench.msl.toolchain.clang import Toolchain, find_toolchain
from metalbench.msl.toolchain.diagnostics import spell_as_metal

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"


def message(body, parameters="device float4* a"):
    text = f"{HEADER}kernel void f({parameters}) {{\n{body}\n}}"
    with pytest.raises(CompileError) as caught:
        engine.build(engine.parse(text, "my.metal"), "f")
    return str(caught.value)


@pytest.mark.parametrize(
    ("clang", "metal"),
    [
        ("'metal::mb_vec<unsigned int, char[4]>'", "'uint4'"),
        ("'float4' (aka 'metal::mb_vec<float, char[4]>')", "'float4'"),
        ("'metal::float4' (aka 'metal::mb_vec<float, char[4]>')", "'float4'"),
        ("'half' (aka '_Float16')", "'half'"),
        ("'const mb_vec<__bf16, char[3]> &'", "'const bfloat3 &'"),
        ("'mb_packed_vec<float, char[3]> *'", "'packed_float3 *'"),
        ("'mb_matrix<_Float16, char[4], char[2]>'", "'half4x2'"),
        ("'metal::mb_array<mb_vec<float, char[4]>, char[3]>'", "'metal::array<float4, 3>'"),
        ("'vec<T, N>' (aka 'mb_vec<T, char[N]>')", "'vec<T, N>'"),
        ("'simdgroup_matrix<float, 8, 8>'", "'simdgroup_float8x8'"),
        ("'_atomic<unsigned int>'", "'atomic_uint'"),
        ("'my_t' (aka 'unsigned char')", "'my_t' (aka 'uchar')"),
        ("'vec<T, 4>'", "'T4'"),
    ],
)
def test_types_are_spelled_as_metal_does(clang, metal):
    assert spell_as_metal(clang) == metal


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a[0] += uint4(1);", "error: no viable overloaded '+='"),
        ("float3 x = a[0];", "error: no viable conversion from 'float4' to 'float3'"),
        ("a[0] = fooo(a[1]);", "error: use of undeclared identifier 'fooo'"),
        ("a[0] = clamp(a[0], 1);", "3 arguments, but 2 were provided"),
        ("half h = static_cast<half>(a[0]); bfloat b;", "cannot convert 'float4' to 'half'"),
        ("a[0].q = 1;", "error: illegal vector component name 'q'"),
        ("array<float3, 2> r; int i = r;", "no viable conversion from 'array<float3, 2>' to 'int'"),
        ("float4x4 m; half3x3 n = m;", "from 'float4x4' to 'half3x3'"),
        ("simdgroup_float8x8 m = a[0];", "'float4' to 'simdgroup_float8x8'"),
    ],
)
def test_messages_are_in_metals_terms_at_the_users_line(body, expected):
    found = message(body)
    assert found.startswith("my.metal:4:")
    assert expected in found
    for word in ("vec<", "_Float16", "__bf16", "mb::", "mb_", "char[", "MB_", "msl/mb", "[...]"):
        assert word not in found


def test_an_error_inside_the_library_is_shown_where_it_was_called():
    text = """template <typename T> T g(T x) { return exp(x); }
    struct S { int a; };
    kernel void f(device S* a) { a[0] = g(a[1]); }"""
    with pytest.raises(CompileError) as caught:
        engine.build(engine.parse(text.replace("exp", "metal::exp"), "my.metal"), "f")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("my.metal:1:41: error: no matching function for call to 'exp'")
    assert lines[3].startswith("my.metal:3:41: note: in instantiation of")


def test_a_crash_of_clang_is_an_error_of_the_source(tmp_path, monkeypatch):
    script = tmp_path / "clang"
    script.write_text("#!/bin/sh\necho PLEASE submit a bug report >&2\nexit 1\n")
    script.chmod(0o755)
    tools = Toolchain((str(script),), (), find_toolchain().headers)
    with pytest.raises(CompileError, match=r"crashed on this source.*exit status 1") as caught:
        compile.check_syntax("", tools, str)
    assert "report" not in str(caught.value)


@pytest.mark.parametrize("statement", [f"x[i] = {'!' * 300_000}1;", f"x[i] = {'-(' * 200_000}"])
def test_a_source_that_crashes_clang_is_a_compile_error(statement):
    text = f"kernel void f(device float* x, uint i [[thread_position_in_grid]]) {{ {statement} }}"
    with pytest.raises(
        CompileError, match=r"^my\.metal:.*(crashed on this source|nesting level)"
    ) as caught:
        engine.build(engine.parse(text, "my.metal"), "f")
    assert "report" not in str(caught.value)
    assert len(str(caught.value)) < 4000


def test_a_failure_of_the_front_end_names_the_file(monkeypatch):
    def broken(*_):
        raise IndexError("list index out of range")

    monkeypatch.setattr("metalbench.msl.toolchain.compile_kernel.lower", broken)
    program = engine.parse("kernel void f(device float* a) {}", "my.metal")
    with pytest.raises(Error, match=r"my.metal: the front end failed with IndexError.*report"):
        engine.build(program, "f")


def test_an_unknown_engine_is_a_machine_error(monkeypatch):
    monkeypatch.setenv("METALBENCH_ENGINE", "lanes")
    program = engine.parse("kernel void f(device float* a) {}", "my.metal")
    with pytest.raises(MachineError, match="expected vectors or fibers, got 'lanes'"):
        engine.build(program, "f")


def test_the_users_error_is_not_followed_by_one_about_the_entry_points():
    text = "float g(device float* p)x { return *p; }\nkernel void f(device float* a) {}"
    with pytest.raises(CompileError) as caught:
        engine.build(engine.parse(text, "my.metal"), "f")
    assert "my.metal:1:25: error: expected" in str(caught.value)
    assert "report" not in str(caught.value)
