"""Compilers are started by a thread that is confined, in which no garbage may be collected."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from metalbench.sandbox.compiler_process import start_compiler

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="threads are confined on Linux")


class Owner:
    """Ends a process when it is collected, and says in which thread and whether it could."""

    def __init__(self, ended: list[tuple[str, bool]]) -> None:
        self.itself = self
        self.child = subprocess.Popen(["sleep", "60"])
        self.ended = ended

    def __del__(self) -> None:
        try:
            os.kill(self.child.pid, signal.SIGKILL)
        except PermissionError:
            self.ended.append((threading.current_thread().name, False))
        else:
            self.ended.append((threading.current_thread().name, True))


def test_garbage_is_not_collected_in_the_confined_thread_of_a_compiler(monkeypatch) -> None:
    ended: list[tuple[str, bool]] = []
    start = subprocess.Popen

    def starting(*arguments, **options):
        held = [[] for _ in range(200_000)]  # far beyond when Python looks for garbage
        process = start(*arguments, **options)
        del held
        return process

    owner = Owner(ended)
    child = owner.child
    monkeypatch.setattr("metalbench.sandbox.compiler_process.subprocess.Popen", starting)
    del owner
    try:
        with start_compiler(["true"], None) as process:
            assert process.wait() == 0
        held = [[] for _ in range(200_000)]
        del held
    finally:
        child.kill()
        child.wait()
    assert ended == [(threading.current_thread().name, True)]
