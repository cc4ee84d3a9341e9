"""The folder that a command is started in is neither imported from nor opened to kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metalbench.sandbox.confinement import list_executor_files
from metalbench.sandbox.process import _ROOT, list_import_folders

# A file of each of these names would take the place of a module that processes import.
SHADOWS = ("mlx", "numpy", "signal", "threading", "json", "ctypes", "tempfile", "scipy")
KERNEL = """// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: twice threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = 2 * x[i];
}
"""


@pytest.mark.parametrize("entry", ["", "HERE", "HERE/."])
def test_modules_are_not_imported_from_the_working_directory(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    named = entry.replace("HERE", str(tmp_path))
    monkeypatch.setattr(sys, "path", [named, *sys.path])
    assert str(tmp_path) not in map(os.path.abspath, list_import_folders())
    assert str(tmp_path) not in map(os.path.abspath, list_executor_files().readable)


def test_folders_of_pythonpath_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert str(tmp_path) in list_import_folders()
    assert str(tmp_path) not in map(os.path.abspath, list_executor_files().readable)


def test_the_checkout_is_the_last_import_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(_ROOT)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(sys, "path", [_ROOT, "/elsewhere"])
    assert list_import_folders() == ["/elsewhere", _ROOT]


def test_kernels_run_where_files_have_the_names_of_modules(tmp_path: Path) -> None:
    """Of the command's own process `python -P` or a script keeps them away; of others we do."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "kernel.metal").write_text(KERNEL)
    for name in SHADOWS:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\n")
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; import metalbench.cli\n"
        "from metalbench.cli import main\n"
        "import numpy, json, ctypes, tempfile, scipy.special, mlx.core\n"
        "sys.path.insert(0, ''); main(['check', 'kernel.metal'])"
    )
    environment = {name: each for name, each in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "imported").exists()
