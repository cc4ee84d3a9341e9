"""The cases of engine/: each was a wrong result, a launch that ran nothing, or refused PTX."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from metalbench.msl import engine
from metalbench.msl.toolchain import compile
from metalbench.msl.toolchain.compile_kernel import find_shared_initialisers

CASES = Path(__file__).parent / "engine"


def printed_by(name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CASES / name)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_aligned_threadgroup_memory_is_shared():
    answer = printed_by("aligned_threadgroup.py")
    assert answer.stdout.splitlines() == ["plain True", "checked True"], answer.stderr


def test_a_grid_that_overflows_is_an_error():
    answer = printed_by("grid_overflow.py")
    assert answer.returncode == 1
    assert "grid: expected at most 2^63 - 1 threads in all, got (2147483648, " in answer.stderr


def test_a_table_of_threadgroup_pointers_is_stored_at_run_time():
    program = engine.parse((CASES / "pointer_table.metal").read_text())
    text = Path(engine.build_for_gpu(program, "k").path).read_text()
    assert find_shared_initialisers(text) == []


def test_a_chain_of_selections_compiles_with_fewer_passes(monkeypatch):
    # The work that LLVM may do is bounded by processor time; a second is far above what it needs
    # without the loop vectoriser, and far below what 45 turns take with it.
    monkeypatch.setattr(compile, "OPTIMISING_S", 1)
    text = (CASES / "compile_hang.metal").read_text().replace("j < 24", "j < 45")
    built = engine.build(engine.parse(text), "k")
    assert "compiled with few optimisations: LLVM's passes took more than 1 s" in built.reason
