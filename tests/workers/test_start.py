"""Modules that are not imported before the processes of a run's first kernel start."""

from __future__ import annotations

import subprocess
import sys

# Ends where a process is started, which knows what it was started with.
PROGRAM = """
import os, sys
sys.path[:] = {path!r}
from metalbench.sandbox import process
def started(*_, **__):
    print(*sys.modules, flush=True)
    os._exit(0)
process.Process.__init__ = started
{code}
"""
COMMAND = """
from metalbench.cli import main
main(["run", "relu", "--device", "cpu"])
"""
# Another thread starts its executors, while what it needs is prepared.
WORKER = """
from metalbench.workers import worker
worker.NEEDED = ()
worker._serve(None, "cpu", "")
"""
SLOW = {"numpy", "mlx.core", "scipy", "rich", "metalbench.task", "metalbench.run"}


def known_when_a_process_starts(code: str) -> set[str]:
    program = PROGRAM.format(path=sys.path, code=code)
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(told.stdout.split())


def test_a_command_starts_its_worker_before_it_reads_the_rest() -> None:
    known = known_when_a_process_starts(COMMAND)
    assert "metalbench.cli.run" in known
    assert not SLOW & known


def test_a_worker_starts_its_executors_before_it_reads_the_rest() -> None:
    known = known_when_a_process_starts(WORKER)
    assert "metalbench.workers.worker" in known
    assert not SLOW & known
