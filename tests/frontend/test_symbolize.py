from pathlib import Path
from shutil import copy

import pytest
from elftools.elf.elffile import ELFFile

from metalbench.msl import engine

TEXT = """#include <metal_stdlib>
using namespace metal;

kernel void f(device float* a, uint i [[thread_position_in_grid]]) {
  a[i] =
      a[i + 1] +
      3;
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_symbolize_returns_lines_of_the_user(checked):
    path = engine.build(engine.parse(TEXT, "dir/my.metal"), "f", checked=checked).path
    with open(path, "rb") as stream:
        section = ELFFile(stream).get_section_by_name(".text")
        begin, size = section["sh_addr"], section["sh_size"]
    places = {engine.symbolize(path, offset) for offset in range(begin, begin + size)}
    lines = {place[1] for place in places if place and place[0] == "dir/my.metal"}
    assert {5, 6} <= lines
    assert lines <= set(range(4, 9))


def test_addresses_outside_of_the_code_have_no_line():
    path = engine.build(engine.parse(TEXT), "f").path
    assert engine.symbolize(path, 0) is None
    assert engine.symbolize(path, 1 << 40) is None


def test_an_object_that_a_build_replaces_has_its_own_lines(tmp_path):
    path = tmp_path / "kernel.so"
    for before in ("", "\n\n\n"):
        built = engine.build(engine.parse(before + TEXT, "my.metal"), "f").path
        copy(built, tmp_path / "new.so")
        (tmp_path / "new.so").replace(path)
        with path.open("rb") as stream:
            section = ELFFile(stream).get_section_by_name(".text")
            begin, size = section["sh_addr"], section["sh_size"]
        places = {engine.symbolize(str(path), offset) for offset in range(begin, begin + size)}
        lines = {place[1] for place in places if place and place[0] == "my.metal"}
        assert lines == {5 + len(before), 6 + len(before)}


@pytest.mark.parametrize("checked", [False, True])
def test_symbolize_adds_the_line_that_calls_code_of_a_header(tmp_path, checked):
    header = str(tmp_path / "own.h")
    Path(header).write_text(HEADER)
    program = engine.parse(CALLS, "my.metal", {}, [str(tmp_path)])
    path = engine.build(program, "f", checked=checked).path
    with open(path, "rb") as stream:
        section = ELFFile(stream).get_section_by_name(".text")
        begin, size = section["sh_addr"], section["sh_size"]
    places = {engine.symbolize(path, offset) for offset in range(begin, begin + size)}
    of_header = {(each.line, each.call) for each in places if each and each.file == header}
    assert {(2, "my.metal:7"), (5, "my.metal:8")} <= of_header
    # The optimiser joins the loads of both calls.
    assert ((2, "my.metal:8") in of_header) or not checked
    assert {each.call for each in places if each and each.file == "my.metal"} == {""}


HEADER = """inline float pick(device const float* x, uint i) {
  return x[i] + 1;
}
inline float twice(device const float* x, uint i) {
  return 2 * pick(x, i + 1);
}
"""
CALLS = """#include <metal_stdlib>
using namespace metal;
#include "own.h"

kernel void f(device const float* x, device float* y,
              uint i [[thread_position_in_grid]]) {
  float own = pick(x, i);
  y[i] = own * twice(x, i);
}
"""
