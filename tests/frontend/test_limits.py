"""Test the limits of run_tool with programs that exceed them."""

from __future__ import annotations

import sys

import pytest

from metalbench._core import CompileError
from metalbench.msl.toolchain import run_tool


def test_run_tool_ends_endless_output() -> None:
    with pytest.raises(CompileError, match="more than 64 MiB of output for 0 lines"):
        run_tool.run_tool(["/bin/sh", "-c", "exec yes"], "")


def test_run_tool_ends_endless_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tool, "PROCESSOR_S", 1)
    with pytest.raises(CompileError, match="no result after 1 s of processor time"):
        run_tool.run_tool(["/bin/sh", "-c", "while :; do :; done"], "")


def test_run_tool_names_the_size_of_a_source_that_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_tool, "PROCESSOR_S", 1)
    with pytest.raises(CompileError) as caught:
        run_tool.run_tool(["/bin/sh", "-c", "cat; while :; do :; done"], "line\n" * 700)
    assert str(caught.value) == (
        "error: the source is too large to compile: no result after 1 s of processor time for 700 "
        "lines of the compiler's input; simplify the kernel, or split its longest function into "
        "several kernels"
    )


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no limit of address space")
def test_run_tool_limits_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tool, "MEMORY_BYTES", 1 << 28)
    program = "bytearray(200 << 20)\ntry: bytearray(400 << 20)\nexcept MemoryError: exit(7)"
    assert run_tool.run_tool([sys.executable, "-c", program], "").returncode == 7
