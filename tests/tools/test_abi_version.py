"""Kernels and the extension are compiled from the same headers, or do not run together."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metalbench import _core
from metalbench.msl import engine
from metalbench.msl.toolchain import clang

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "abi_version.py"
KERNEL = "kernel void f(device int* a) { *a = 1; }"


def version_of(tree: Path) -> str:
    """Return the version in csrc/msl/mb/info.h of a tree after the tool of that tree has run."""
    subprocess.run([sys.executable, str(tree / "tools" / TOOL.name)], check=True)
    found = re.search(r"abi_version = (\w+);", (tree / "csrc/msl/mb/info.h").read_text())
    assert found is not None
    return found[1]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The tool and the C++ of this checkout, to change."""
    (tmp_path / "tools").mkdir()
    shutil.copy(TOOL, tmp_path / "tools")
    shutil.copytree(ROOT / "csrc", tmp_path / "csrc")
    return tmp_path


def test_the_abi_version_is_the_hash_of_the_headers():
    command = [sys.executable, str(TOOL), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_new_member_changes_the_number_and_a_comment_does_not(tree):
    before = version_of(tree)
    header = tree / "csrc/msl/mb/cpu/abi.h"
    text = header.read_text()
    header.write_text(
        text.replace("  const u32* turns;\n};", "  const u32* turns;  // of loops\n};")
    )
    assert version_of(tree) == before
    header.write_text(
        text.replace("  const u32* turns;\n};", "  u32 more;\n  const u32* turns;\n};")
    )
    assert version_of(tree) != before


def test_headers_that_differ_from_the_extension_are_refused(tmp_path, monkeypatch):
    headers = tmp_path / "msl"
    shutil.copytree(engine.find_toolchain().headers, headers)
    info = headers / "mb" / "info.h"
    number = "0x0badf00d"
    info.write_text(re.sub(r"(?<=abi_version = )\w+", number, info.read_text()))
    monkeypatch.setattr(clang, "_find_headers", lambda: headers)
    clang._find_by_name.cache_clear()
    try:
        with pytest.raises(
            _core.Error, match=rf"other MSL headers .* got {number}; install"
        ) as told:
            _core.open("cpu").compile(KERNEL).pipeline()
        assert "pip install -e ." in str(told.value)
    finally:
        monkeypatch.undo()
        clang._find_by_name.cache_clear()
