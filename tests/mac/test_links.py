"""macOS's linker refuses symbols that nothing defines, except those that it is told of.

A module of Python has many: the interpreter that loads it defines them. Linux's linker does not
ask, so the lists are compared with what the modules of this build need.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import nanobind
import pytest
from elftools.elf.elffile import ELFFile

CHECKOUT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="the linker itself asks there")

OWN_LISTS = {"metalbench.hlo.plugin._pjrt": [CHECKOUT / "csrc/pjrt/embedding.sym"]}


def undefined(module: str) -> set[str]:
    """Names of Python's API that a module of this build leaves undefined."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    with Path(spec.origin).open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".dynsym")
        names = {each.name for each in table.iter_symbols() if each["st_shndx"] == "SHN_UNDEF"}
    return {name for name in names if name.removeprefix("_").startswith("Py")}


def told(lists: list[Path]) -> set[str]:
    """Names in lists of `-U _name`, as macOS's linker reads them."""
    lines = [line for path in lists for line in path.read_text().splitlines()]
    assert all(line.startswith("-U _") for line in lines)
    return {line.removeprefix("-U _") for line in lines}


@pytest.mark.parametrize("module", ["metalbench._core", "metalbench.hlo.plugin._pjrt"])
def test_the_linker_is_told_of_every_name_that_python_defines(module: str) -> None:
    nanobinds = Path(nanobind.cmake_dir()) / "darwin-ld-cpython.sym"
    own = OWN_LISTS.get(module, [])
    needed = undefined(module)
    assert needed
    assert needed <= told([nanobinds, *own])
    # A list has nothing that is in the other one, or that nobody needs.
    assert told(own) <= needed - told([nanobinds])
