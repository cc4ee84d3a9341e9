"""Test errors of the machine: a cache that cannot be written, and compilers without memory."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any

import pytest

from metalbench import build_cache
from metalbench._core import CompileError, MachineError, OutOfMemoryError
from metalbench.msl import engine
from metalbench.msl.toolchain.run_tool import run_tool

KERNEL = "kernel void f(device float* x) { x[0] = 1; }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is full")
def test_a_full_disk_is_reported_with_folder_and_advice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = build_cache.tempfile.mkstemp

    def on_a_full_disk(**options: Any) -> tuple[int, str]:
        handle, name = made(**options)
        Path(name).unlink()
        Path(name).symlink_to("/dev/full")
        return handle, name

    monkeypatch.setattr(build_cache.tempfile, "mkstemp", on_a_full_disk)
    with pytest.raises(MachineError) as caught:
        engine.parse(KERNEL, "f.metal")
    for part in (f"{folder} cannot be written: No space left", "MiB free", "free some space there"):
        assert part in str(caught.value)
    assert "METALBENCH_CACHE" in str(caught.value)
    assert [path for path in folder.rglob("*") if path.is_file() or path.is_symlink()] == []


@pytest.mark.parametrize("place", ["mkdir", "write_text"])
def test_all_messages_of_full_disks_are_recognised(
    folder: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(Path, place, full)
    with pytest.raises(MachineError, match="No space left on device"):
        engine.parse(KERNEL, "f.metal")


def test_a_file_in_place_of_the_folder_is_not_a_full_disk(folder: Path) -> None:
    folder.write_text("in the way")
    with pytest.raises(
        MachineError, match=r"cannot be written: .*; set METALBENCH_CACHE to a folder"
    ):
        engine.parse(KERNEL, "f.metal")


def saying(what: str, code: int = 1) -> list[str]:
    return [sys.executable, "-c", f"import sys; sys.stderr.write({what!r}); sys.exit({code})"]


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("error: unable to open output file 'x.o': No space left on device", MachineError, "free"),
        ("ld: error: failed to write: Disk quota exceeded", MachineError, "Disk quota exceeded"),
        ("LLVM ERROR: out of memory", OutOfMemoryError, "memory does not suffice to compile"),
        ("terminate called after throwing 'std::bad_alloc'", OutOfMemoryError, "ulimit -v"),
    ],
)
def test_a_compiler_without_disk_space_is_a_machine_error(
    folder: Path, what: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        run_tool(saying(what), "")


def test_a_killed_compiler_is_an_out_of_memory_error(folder: Path) -> None:
    command = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    with pytest.raises(OutOfMemoryError, match="it was killed"):
        run_tool(command, "")


def test_a_missing_compiler_is_a_machine_error() -> None:
    with pytest.raises(MachineError, match="/no/such/clang cannot be run: No such file"):
        run_tool(["/no/such/clang"], "")


def test_a_compiler_without_permission_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "clang"
    program.write_text("#!/bin/sh\n")
    with pytest.raises(MachineError, match=f"{program} cannot be run: Permission denied"):
        run_tool([str(program)], "")


def test_run_tool_returns_other_failures() -> None:
    assert run_tool(saying("error: unknown type name 'flaot'"), "").returncode == 1
    with pytest.raises(CompileError):
        engine.build(engine.parse("kernel void f(device flaot* x) {}", "f.metal"), "f")
