"""Test list_disabled_passes: the option exists, and the names are those of passes."""

from __future__ import annotations

import re
import subprocess

import pytest

from metalbench.msl.toolchain import clang
from metalbench.msl.toolchain.clang import list_disabled_passes

MODULE = """
define i32 @one() {
  ret i32 1
}
"""


def make_toolchain(version, tmp_path):
    program = tmp_path / "clang"
    program.write_text(f"#!/bin/sh\necho '{version}'\n")
    program.chmod(0o755)
    return clang.Toolchain((str(program),), (), tmp_path)


@pytest.mark.parametrize(
    ("version", "is_supported"),
    [
        ("clang version 22.1.8", True),
        ("Ubuntu clang version 23.0.0 (1)", True),
        ("clang version 21.1.0", False),
        ("Apple clang version 17.0.0 (clang-1700.0.13.5)", False),
        ("something else", False),
    ],
)
def test_list_disabled_passes_depends_on_the_version(version, is_supported, tmp_path):
    assert bool(list_disabled_passes(make_toolchain(version, tmp_path))) is is_supported


def test_list_disabled_passes_disables_these_passes():
    tools = clang.find_toolchain()
    given = list_disabled_passes(tools)
    command = [*tools.clang, "-x", "ir", "-S", "-emit-llvm", "-o", "-", "-", "-O1", *given]
    verbose = [*command, "-mllvm", "-opt-disable-enable-verbosity"]
    said = subprocess.run(verbose, input=MODULE, capture_output=True, text=True, check=True).stderr
    skipped = {*re.findall(r"NOT running pass ([\w-]+)", said)}
    assert {"ipsccp", "globalopt", "sccp", "reassociate"} <= skipped
    assert skipped <= {*given[-1].partition("=")[2].split(",")}
    assert {"simplifycfg", "sroa", "early-cse"} <= {*re.findall(r": running pass ([\w-]+)", said)}
