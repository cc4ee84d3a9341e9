"""Limits, and seeing how much memory a process holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metalbench.sandbox import resources
from metalbench.sandbox.exit_status import WorkerExited
from metalbench.sandbox.resources import Limits, read_resident_bytes
from metalbench.workers import pool
from metalbench.workers.pool import WorkerHandle

MIB = 2**20
HOLD = "x = bytearray(100 * 2**20); x[::4096] = bytes(25600); print(flush=True); input()"


def test_half_of_the_memory_is_the_default() -> None:
    assert Limits().memory_bytes == resources.memory_bytes() // 2


def test_a_containers_memory_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounded, open_ended = tmp_path / "memory.max", tmp_path / "limit"
    bounded.write_text(f"{64 * MIB}\n")
    open_ended.write_text("max\n")
    monkeypatch.setattr(resources, "CONTAINER", (bounded, open_ended, tmp_path / "missing"))
    assert resources.memory_bytes() == 64 * MIB


def test_memory_of_children_counts() -> None:
    own = read_resident_bytes(os.getpid(), children=False)
    assert own > MIB
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert read_resident_bytes(child.pid) > 100 * MIB
        both = read_resident_bytes(os.getpid())
        assert both > read_resident_bytes(os.getpid(), children=False) + 100 * MIB
        child.kill()
    assert read_resident_bytes(child.pid) == 0


def test_waiting_for_the_parent_does_not_count_as_a_workers_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(pool, "monotonic", lambda: now[0])
    worker = WorkerHandle.__new__(WorkerHandle)
    worker._start = worker._last_check = worker._last_message = 0.0
    worker._stage = None
    monkeypatch.setattr(worker, "_send", lambda *_: None)
    now[0] = worker._last_message = 4.0  # it has reported a stage, and continues much later
    now[0] = 100.0
    worker.let_continue()
    worker._last_check = now[0] = 105.0
    worker._check_limits(Limits(10.0))
    now[0] = 107.0
    with pytest.raises(WorkerExited, match="at most 10 s"):
        worker._check_limits(Limits(10.0))
