"""Test the limits of run_tool with programs that exceed them."""

from __future__ import annotations

import sys

import pytest

from metalbench._core import CompileError
from metalbench.msl.toolchain import run_tool


def test_run_tool_ends_endless_output() -> None:
    with pytest.raises(CompileError, match="more than 64 MiB of output; simplify the kernel"):
        run_tool.run_tool(["/bin/sh", "-c", "exec yes"], "")


def test_run_tool_ends_endless_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tool, "PROCESSOR_S", 1)
    with pytest.raises(CompileError, match="no result after 1 s of processor time"):
        run_tool.run_tool(["/bin/sh", "-c", "while :; do :; done"], "")


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no limit of address space")
def test_run_tool_limits_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tool, "MEMORY_BYTES", 1 << 28)
    program = "bytearray(200 << 20)\ntry: bytearray(400 << 20)\nexcept MemoryError: exit(7)"
    assert run_tool.run_tool([sys.executable, "-c", program], "").returncode == 7
