"""Test messages about undefined functions, and the paths of files in messages."""

import pytest

from metalbench._core import CompileError
from metalbench.msl import engine
from metalbench.msl.toolchain.symbols import explain_undefined

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
DECLARED = """float helper(float x);
template <typename T> T other(T x);
struct S { float get(device float* x) const; };
"""
KERNEL = "kernel void f(device float* out) {\n  out[0] = CALL;\n}\n"


def build(text, **options):
    return engine.build(engine.parse(HEADER + text, "dir/my.metal"), "f", **options)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("helper(out[1])", r"^dir/my\.metal:7:12: error: helper\(float\) is called, but nothing"),
        ("1 + other(out[1])", r"^dir/my\.metal:7:16: error: float other<float>\(float\) is called"),
        ("S().get(out)", r"^dir/my\.metal:7:16: error: S::get\(float\*\) const is called"),
    ],
)
def test_an_undefined_function_is_reported_with_its_line(call, message, checked):
    with pytest.raises(CompileError, match=message):
        build(DECLARED + KERNEL.replace("CALL", call), checked=checked)


def test_every_undefined_function_is_named_once():
    with pytest.raises(CompileError) as caught:
        build(DECLARED + KERNEL.replace("CALL", "helper(1) + helper(2) + other(3)"))
    assert str(caught.value).count("helper(float)") == 1
    assert len(str(caught.value).splitlines()) == 2


def test_address_spaces_are_spelled_as_in_metal():
    text = """int by(device float* x) { return 1; } int by(threadgroup float* x) { return 2; }
float far(device float* a, threadgroup float* b, constant float* c);
kernel void f(device float* out, constant float* c) {
  threadgroup float t[1];
  out[0] = by(out) + by(t) + far(out, t, c);
}
"""
    with pytest.raises(CompileError, match=r"far\(float device\*, float threadgroup\*, float cons"):
        build(text)


def test_unused_functions_need_no_definition():
    build(DECLARED + KERNEL.replace("CALL", "1"))


def test_functions_of_the_c_library_are_defined():
    struct = "struct Big { float v[256]; };\n"
    build(struct + KERNEL.replace("CALL", "1; ((device Big*)out)[1] = ((device Big*)out)[0]"))


def test_undefined_functions_without_line():
    source = engine.parse(HEADER + DECLARED + KERNEL, "my.metal").source
    said = "error: undefined symbol: __Z6helperf\n    note: referenced by /tmp/k.o:_mb_thread\n"
    assert explain_undefined(said, source).startswith("my.metal:3:7: error: __Z6helperf is called")


@pytest.fixture
def write_nested_kernel(tmp_path):
    """Return the path of a kernel that includes a/x.h, which includes b/y.h by a relative path."""
    for name, text in (("a/x.h", '#include "../b/y.h"\n'), ("b/y.h", "float y() { return Z; }\n")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return tmp_path / "k.metal"


@pytest.mark.parametrize("included", ["a/x.h", "./a/x.h", "b/../a/x.h"])
def test_paths_of_nested_includes_are_short(write_nested_kernel, included):
    program = engine.parse(f'{HEADER}#include "{included}"\n{KERNEL}', str(write_nested_kernel))
    with pytest.raises(CompileError, match=r"(?m)^b/y\.h:1:20: error: .*'Z'"):
        engine.build(program, "f")


def test_paths_are_short_where_a_file_is_missing(write_nested_kernel):
    (write_nested_kernel.parent / "b/y.h").write_text('#include "../c/none.h"\n')
    with pytest.raises(CompileError) as caught:
        engine.parse(f'{HEADER}#include "a/x.h"\n', str(write_nested_kernel))
    assert "b/y.h:1:10: fatal error: '../c/none.h' file not found" in str(caught.value)
    assert "a/.." not in str(caught.value)


@pytest.mark.parametrize("both", [True, False])
def test_a_parent_of_a_link_is_refused(write_nested_kernel, both):
    """The system reads elsewhere/b/y.h there, and a virtual file system b/y.h."""
    (write_nested_kernel.parent / "elsewhere/deep").mkdir(parents=True)
    (write_nested_kernel.parent / "elsewhere/b").mkdir()
    (write_nested_kernel.parent / "elsewhere/b/y.h").write_text("float y() { return W; }\n")
    (write_nested_kernel.parent / "elsewhere/deep/x.h").write_text('#include "../b/y.h"\n')
    (write_nested_kernel.parent / "link").symlink_to(write_nested_kernel.parent / "elsewhere/deep")
    if not both:
        (write_nested_kernel.parent / "b/y.h").unlink()
    with pytest.raises(
        CompileError, match=r"k\.metal: error: #include of .*link/\.\./b/y\.h: a link"
    ):
        engine.parse(f'{HEADER}#include "link/x.h"\n{KERNEL}', str(write_nested_kernel))


def test_a_link_to_a_folder_next_to_the_kernel_is_read(write_nested_kernel):
    (write_nested_kernel.parent / "link").symlink_to(write_nested_kernel.parent / "b")
    program = engine.parse(f'{HEADER}#include "link/y.h"\n{KERNEL}', str(write_nested_kernel))
    with pytest.raises(CompileError, match=r"(?m)^(?:\./)?link/y\.h:1:20: error: .*'Z'"):
        engine.build(program, "f")
