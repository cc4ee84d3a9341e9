"""Test versions of Metal: what Metal 4 has, what earlier ones refuse, and how one is chosen."""

from __future__ import annotations

import re

import numpy as np
import pytest

from metalbench import _core
from metalbench.errors import CompileError, DeclarationError
from metalbench.kernel.header import Kernel, parse
from metalbench.msl.frontend.standards import STANDARDS, define_version

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
SIGNATURE = "kernel void f(device int* x, uint i [[thread_position_in_grid]])"
HEADERS = [
    "metal_tensor",
    "metal_cooperative_tensor",
    "MetalPerformancePrimitives/MetalPerformancePrimitives.h",
]
LATER = "Metal has tensors from metal4.0 on: compile with --std metal4.0"


def run(body: str, declarations: str = "", standard: str = "metal4.0", **options) -> list[int]:
    """Run four threads of a kernel, and return what they write to x."""
    device = _core.open("cpu")
    text = f"{HEADER}{declarations}\n{SIGNATURE} {{\n{body}\n}}\n"
    library = device.compile(text, macros=define_version(standard), **options)
    x = np.arange(4, dtype=np.int32)
    device.run([_core.Dispatch(library.pipeline("f"), {"x": x}, threads_in_grid=4, threads=4)])
    return x.tolist()


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("header", HEADERS)
def test_headers_of_tensors_exist_from_metal4_on(source, standard, header):
    text = f"#if __has_include(<{header}>)\nvoid yes();\n#else\nvoid no();\n#endif\n"
    expected = "yes" if STANDARDS[standard] >= 400 else "no"
    assert source(text, **define_version(standard)).tokens.text[1] == expected


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("macro", ["__HAVE_TENSOR__", "__HAVE_INT4B_FORMAT_TYPE__"])
def test_macros_of_tensors_are_defined_from_metal4_on(standard, macro):
    body = f"#ifdef {macro}\nx[i] = __METAL_VERSION__;\n#else\nx[i] = 0;\n#endif"
    version = STANDARDS[standard]
    assert run(body, standard=standard) == [version if version >= 400 else 0] * 4


@pytest.mark.parametrize(
    "declarations",
    [
        *(f"#include <{header}>" for header in HEADERS),
        "using namespace mpp::tensor_ops;",
        "void g(tensor<device half, dextents<int, 2>> a) {}",
        "using T = tensor<const device half, dextents<int, 2>, tensor_inline>;",
        "using S = execution_simdgroups<4>;",
    ],
)
def test_tensors_before_metal4_are_refused_with_the_option(declarations):
    with pytest.raises(CompileError, match=re.escape(LATER)):
        run("x[i] = 1;", declarations, standard="metal3.2")


@pytest.mark.parametrize(
    "body",
    [
        "int tensor = 3; x[i] = tensor < int(i);",
        "struct T { int mpp; }; T t{1}; x[i] = t.mpp;",
        "int extents = 1, slice = 2; x[i] = extents < slice;",
    ],
)
@pytest.mark.parametrize("standard", ["metal3.1", "metal4.0"])
def test_names_of_tensors_are_free(body, standard):
    assert len(run(body, standard=standard)) == 4


def test_metal4_has_subscripts_of_several_indices():
    declarations = """struct Table {
        int rows[6];
        thread int& operator[](int i, int j) thread { return rows[i * 3 + j]; }
    };"""
    body = "Table t; for (int j = 0; j < 6; ++j) t[j / 3, j % 3] = j; x[i] = t[1, i % 3];"
    assert run(body, declarations) == [3, 4, 5, 3]


def test_metal4_has_literal_classes_as_template_arguments():
    declarations = """struct Shape { int m, n; constexpr Shape(int m, int n) : m(m), n(n) {} };
    template <Shape s> struct Tile { static constant constexpr int area = s.m * s.n; };"""
    assert run("constexpr auto s = Shape(3, 5); x[i] = Tile<s>::area;", declarations) == [15] * 4


def test_metal4_deduces_template_arguments():
    declarations = "template <class T> struct Box { T value; Box(T v) : value(v) {} };"
    assert run("Box b(int(i) * 2); x[i] = b.value;", declarations) == [0, 2, 4, 6]


@pytest.mark.parametrize("standard", ["metal3.2", "metal4.0"])
def test_lambdas_need_metal32(standard):
    body = "auto twice = [=](int a) { return 2 * a; }; x[i] = twice(int(i));"
    assert run(body, standard=standard) == [0, 2, 4, 6]
    with pytest.raises(CompileError, match="lambda expressions are not supported in Metal"):
        run(body, standard="metal3.1")


def test_metal4_has_address_spaces_in_overloads():
    declarations = """int g(device int* p) { return 1; } int g(thread int* p) { return 2; }
    struct Grid { int v[4]; int operator[](int i, int j) const { return v[i * 2 + j]; } };"""
    body = "int y = 0; Grid grid = {{1, 2, 3, 4}}; x[i] = g(x) * 100 + g(&y) * 10 + grid[1, 1];"
    assert run(body, declarations) == [124] * 4


def parse_kernel(lines: str) -> Kernel:
    text = f"// dispatch: f threadgroups=(1) threads=(32)\n{lines}kernel void f() {{}}\n"
    return parse(text, name="k")


def test_parse_kernel_reads_the_version():
    assert parse_kernel("// std: metal4.0\n").standard == "metal4.0"
    assert not parse_kernel("").standard


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("// std: metal5.0", "expected metal3.1 or metal3.2 or metal4.0"),
        ("// std: 4.0", "expected a version of Metal"),
        ("// std: metal4.0\n// std: metal3.2", "std is declared twice"),
        ("// standard: metal4.0\n// st: metal4.0", "did you mean 'std'"),
    ],
)
def test_parse_kernel_refuses_versions(line, message):
    with pytest.raises(DeclarationError, match=re.escape(message)):
        parse_kernel(f"{line}\n")
