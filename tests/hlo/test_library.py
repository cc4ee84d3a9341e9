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
from metalbench.msl.frontend.standards import DOUBLE_MACRO
from metalbench.msl.toolchain.preprocess import expand_plain_source

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


@pytest.mark.parametrize("header", [each for each in HEADERS if not each.startswith("double")])
def test_clang_need_not_preprocess_a_source(header):
    words = " ".join(each.name for each in read_declarations(header))
    source = format_library([f"kernel void f() {{ float2 shlo::F8 shlo::reflectors_ {words} }}"])
    assert all(each.text in source for each in read_declarations(header))
    assert expand_plain_source(source, "<hlo>", {}) is not None


def test_kernels_without_calls_get_no_functions():
    assert select_functions(CALL.format("float", "a[i] + 1")) == ""


def test_functions_come_with_the_functions_that_they_call():
    text = select_functions(CALL.format("float", "shlo::tanh(a[i])"))
    assert "float tanh(" in text
    assert "float sign(" in text
    assert "threefry" not in text
    assert "float2" not in text


def test_functions_on_double_come_with_double_only():
    call = "shlo::pow(a[i], a[i])"
    single, double = (select_functions(CALL.format(each, call)) for each in ("float", "double"))
    assert "DoublePair" not in single
    assert "DoublePair log_pair(" in double
    assert "kTwoOverPi" not in double


def test_overloads_of_complex_numbers_come_with_complex_numbers():
    text = select_functions(CALL.format("float2", "shlo::tanh(a[i])"))
    assert "C tanh(" in text
    assert "double" not in text
    assert "hyperbolic_sine" in text


@pytest.mark.parametrize("header", HEADERS)
def test_each_function_compiles_with_what_is_selected_for_it(header):
    """Instantiates nothing: clang reports an undeclared name of a function without templates."""
    is_double = header.startswith("double")
    spaces = []
    for name in sorted({each.name for each in read_declarations(header)} - {""}):
        # The other words select all headers; those of double only for themselves.
        words = "float2 double2" if is_double else "float2 shlo::F8"
        text = select_functions(f"{name} {words} shlo::reflectors_")
        assert re.search(rf"\b{name}\b", text)
        spaces.append(f"namespace only_{name} {{\n{text}}}\n")
    source = format_library(["".join(spaces).replace("shlo", "tested"), CALL.format("float", "0")])
    folders = include_folders()
    given = {"include_dirs": folders, "fast_math": False}
    given |= {"macros": {DOUBLE_MACRO: "1"}} if is_double else {}
    open_device("cpu").compile(source, **given).pipeline("f")
