"""The source of kernels: the functions of the headers that they call, and no others."""

from __future__ import annotations

import re

import pytest

from metalbench.hlo.codegen.library import (
    INCLUDE,
    format_library,
    read_declarations,
    select_functions,
)
from metalbench.hlo.runtime.executable import open_device
from metalbench.kernel.source_files import include_folders

HEADERS = sorted(path.name for path in INCLUDE.glob("*.h"))
CALL = "kernel void f(device {0}* a, uint i [[thread_position_in_grid]]) {{ a[i] = {1}; }}"


@pytest.mark.parametrize("header", HEADERS)
def test_every_declaration_of_a_header_is_read_once(header):
    text = re.sub(r"//[^\n]*", "", (INCLUDE / header).read_text())
    found = read_declarations(header)
    joined = "".join(each.text for each in found)
    inside = text.partition("namespace shlo {")[2].rpartition("}")[0]
    assert re.sub(r"\s", "", joined) == re.sub(r"\s", "", inside)
    for each in found:
        bodies = re.findall(r"^(?:inline|struct|template)", each.text, re.M)
        assert len(bodies) <= 2, each.text
        assert each.name or each.text.strip() == "using namespace metal;"


def test_kernels_without_calls_get_no_functions():
    assert select_functions(CALL.format("float", "a[i] + 1")) == ""


def test_functions_come_with_the_functions_that_they_call():
    text = select_functions(CALL.format("float", "shlo::tanh(a[i])"))
    assert "float tanh(" in text
    assert "float sign(" in text
    assert "threefry" not in text
    assert "float2" not in text


def test_overloads_of_complex_numbers_come_with_complex_numbers():
    text = select_functions(CALL.format("float2", "shlo::tanh(a[i])"))
    assert "float2 tanh(" in text
    assert "hyperbolic_sine" in text


@pytest.mark.parametrize("header", HEADERS)
def test_each_function_compiles_with_what_is_selected_for_it(header):
    """Instantiates nothing: clang reports an undeclared name of a function without templates."""
    spaces = []
    for name in sorted({each.name for each in read_declarations(header)} - {""}):
        # The other words select all headers.
        text = select_functions(f"{name} float2 shlo::reflectors_")
        assert re.search(rf"\b{name}\b", text)
        spaces.append(f"namespace only_{name} {{\n{text}}}\n")
    source = format_library(["".join(spaces).replace("shlo", "tested"), CALL.format("float", "0")])
    folders = include_folders()
    open_device("cpu").compile(source, include_dirs=folders, fast_math=False).pipeline("f")
