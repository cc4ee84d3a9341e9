"""Test that the message of each error in a source says what, where, and how to fix it."""

import pytest

from metalbench._core import CompileError, Unsupported
from metalbench.msl import engine
from metalbench.msl.ir.text import IrError
from metalbench.msl.toolchain import compile_kernel

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"


def refuse(text, kind=CompileError, name="f", constants=None, **macros):
    with pytest.raises(kind) as caught:
        engine.build(engine.parse(HEADER + text, "my.metal", macros), name, constants or {})
    return str(caught.value)


def test_an_unknown_name_is_reported_at_its_column():
    message = refuse("kernel void f(device float*   a) {\n\ta[0]  =   nothing;  // why\n}")
    assert "my.metal:4:12: error: use of undeclared identifier 'nothing'" in message
    assert "    4 | \ta[0]  =   nothing;  // why\n      | \t          ^~~~~~~" in message


def test_an_error_in_an_included_file_names_that_file(tmp_path):
    (tmp_path / "part.h").write_text("\n\ninline int g() { return missing; }\n")
    path = tmp_path / "k.metal"
    text = '#include "part.h"\nkernel void f(device int* a) { *a = g(); }'
    with pytest.raises(CompileError, match=r"part\.h:3:25: error: use of undeclared identifier"):
        engine.build(engine.parse(text, str(path)), "f")


def test_line_directives_in_the_source_are_followed():
    text = '#line 7 "<body>"\nkernel void f(device int* a) {\n\n  a[0] =  gone;\n}\n'
    message = refuse(text)
    assert "<body>:9:11: error: use of undeclared identifier 'gone'" in message
    assert "    9 |   a[0] =  gone;\n      |           ^~~~" in message


def test_a_line_directive_without_a_file_keeps_the_file():
    message = refuse("#line 40\nkernel void f(device int* a) { a[0] = gone; }\n")
    assert "my.metal:40:39: error: use of undeclared identifier 'gone'" in message


def test_an_error_after_a_macro_has_the_right_line():
    message = refuse(
        "#define TWICE(x) ((x) + (x))\n\nkernel void f(device int* a) { *a = TWICE(zz); }"
    )
    assert "my.metal:5:" in message
    assert "undeclared identifier 'zz'" in message


def test_preprocessor_errors_are_passed_on():
    assert "my.metal:3:2: error: no luck" in refuse("#error no luck\n")
    assert "my.metal:3:10: fatal error: 'gone.h' file not found" in refuse('#include "gone.h"\n')


@pytest.mark.parametrize(
    "text",
    ["kernel void f(device int* a) { if (1) {\n", "kernel void f(device int* a) { a[0; }\n}}"],
)
def test_unmatched_brackets_have_clangs_message(text):
    assert "error: expected" in refuse(text)


def test_an_unknown_kernel_lists_the_known_ones():
    message = refuse("kernel void g(device int* a) {}", name="f")
    assert message == "my.metal: error: no kernel is named f; expected one of: g"


def test_a_template_without_instantiation_is_explained():
    message = refuse("template <typename T> kernel void f(device T* a) {}")
    assert "f at my.metal:3:1 is a template: instantiate it" in message


def test_two_kernels_of_one_name_are_both_named():
    text = 'kernel void f(device int* a) {}\n[[host_name("f")]] kernel void g(device int* a) {}'
    message = refuse(text)
    assert "my.metal:4:" in message
    assert "two kernels are named f; the other is at my.metal:3:13" in message


def test_a_missing_function_constant_is_asked_for():
    text = "constant int n [[function_constant(4)]];\nkernel void f(device int* a) { *a = n; }"
    message = refuse(text)
    assert message.startswith(
        "my.metal:3:14: error: [f] function constant n (int, index 4) has no value"
    )
    assert "constants={'n': ...}" in message


def test_an_unused_function_constant_may_be_missing():
    text = "constant int n [[function_constant(4)]];\nkernel void f(device int* a) { *a = 1; }"
    assert engine.build(engine.parse(HEADER + text), "f").path


def test_an_unknown_function_constant_lists_the_known_ones():
    text = "constant int n [[function_constant(4)]];\nkernel void f(device int* a) { *a = n; }"
    assert "no function constant is called 'm'; expected n (4)" in refuse(text, constants={"m": 1})


@pytest.mark.parametrize(
    ("parameter", "feature"),
    [
        ("texture2d_ms_array<float> t [[texture(0)]]", "arrays of multisampled textures"),
        ("raytracing::primitive_acceleration_structure s [[buffer(1)]]", "ray tracing"),
    ],
)
def test_unsupported_features_are_reported_with_their_line(parameter, feature):
    message = refuse(f"kernel void f(device int* a,\n {parameter}) {{}}", Unsupported)
    assert message.startswith("[f] my.metal:4:")
    assert f"the cpu device has no {feature}" in message


def test_unsupported_parts_do_not_disturb_other_kernels():
    text = """struct V { float4 at [[position]]; };
    vertex V v(uint i [[vertex_id]]) { return V{float4(0)}; }
    fragment float4 p(V in [[stage_in]], texture2d<float> t [[texture(0)]]) { return 0; }
    kernel void k(texture2d<float, access::write> t [[texture(0)]]) {}
    kernel void f(device int* a) { a[0] = 1; }"""
    assert engine.build(engine.parse(HEADER + text), "f").path


def test_an_unsupported_overload_does_not_disturb_the_others():
    text = """float at(texture2d_ms_array<float> t, uint i) { return t.read(uint2(i, 0)).x; }
    float at(device float* t, uint i) { return t[i]; }
    kernel void f(device float* a) { a[0] = at(a, 1); }"""
    assert engine.build(engine.parse(HEADER + text), "f").path


def test_a_function_that_uses_an_unsupported_feature_is_refused_at_its_line():
    text = """float at(texture2d_ms_array<float> t, uint i) { return t.read(uint2(i, 0)).x; }
    kernel void f(device float* a) { a[0] = at(a, 1); }"""
    message = refuse(text, Unsupported)
    assert message.startswith(
        "[f] my.metal:3:10: texture2d_ms_array: the cpu device has no arrays of"
    )


def test_function_constants_are_followed_through_operators():
    text = """constant int n [[function_constant(0)]];
    struct S { int a; };
    S operator+(S a, S b) { return S{a.a + b.a + n}; }
    kernel void f(device S* a) { a[0] = a[0] + a[1]; }"""
    assert "function constant n (int, index 0) has no value" in refuse(text)


def test_a_vertex_function_is_not_a_kernel():
    assert "is a function without `kernel`" in refuse(
        "vertex float4 f(uint i [[vertex_id]]) { return 0; }"
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            "device int* a, float b",
            "error: invalid type 'float' for input declaration in a kernel function; "
            "[f] parameter b: expected a device, constant or threadgroup pointer",
        ),
        (
            "device int* a, float b [[thread_position_in_grid]]",
            "error: type 'float' is not valid for attribute 'thread_position_in_grid'; "
            "[f] parameter b: expected uint",
        ),
        (
            "device int* a, int2 b [[threads_per_threadgroup]]",
            "error: type 'int2' is not valid for attribute 'threads_per_threadgroup'; [f] par",
        ),
        (
            "device int* a, uint4 b [[thread_position_in_grid]]",
            "error: type 'uint4' is not valid for attribute 'thread_position_in_grid'; [f] par",
        ),
        (
            "device int* a, uint2 b [[thread_index_in_simdgroup]]",
            "error: type 'uint2' is not valid for attribute 'thread_index_in_simdgroup'; [f] par",
        ),
        (
            "device int* a [[buffer(1)]], device int* b [[buffer(1)]]",
            "error: cannot reserve 'buffer' resource location at index 1; [f] b: a has it",
        ),
        (
            "device int* a [[buffer(31)]]",
            "'buffer' attribute parameter is out of bounds: must be between 0 and 30; [f] a: got",
        ),
        ("device int* a [[buffer(what)]]", "expected an integer constant, got what"),
    ],
)
def test_wrong_parameters_are_explained(parameters, message):
    assert message in refuse(f"kernel void f({parameters}) {{}}")


@pytest.mark.parametrize("control", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x7f"])
def test_a_control_character_in_a_file_name_ends_no_line(control, tmp_path):
    (tmp_path / "secret.h").write_text("#error the secret of the host\n")
    name = f'a.metal{control}#include "{tmp_path}/secret.h"{control}//'
    text = "kernel void f(device int* a) { a[0] = gone; }"
    with pytest.raises(CompileError, match="gone") as caught:
        engine.build(engine.parse(text, name), "f")
    assert "the secret" not in str(caught.value)


def test_compile_kernel_reports_a_pass_that_does_not_find_its_pattern(monkeypatch):
    def fail(*_):
        raise IrError("the module does not declare mb_within")

    monkeypatch.setattr(compile_kernel, "_compile_lowered", fail)
    message = refuse("kernel void f(device int* a) { *a = 48131; }")
    assert "my.metal: the engine cannot compile kernel f: the module does not declare" in message
    assert "report it" in message
