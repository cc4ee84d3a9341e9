"""Ctrl-C: exit code 130 and its message, at whatever moment it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from metalbench.cli.interruption import INTERRUPTED, MESSAGE

# What says that it has begun, and then never ends.
ENDLESS = "import signal, sys; print('begun', flush=True)\nwhile True: signal.pause()\n"


def interrupted(*command: str, **environment: str) -> tuple[int, str]:
    """Exit code and standard error of a command that is interrupted when it prints `begun`."""
    run = subprocess.Popen(
        [sys.executable, "-m", "metalbench", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    assert run.stdout is not None
    if not any("begun" in line for line in run.stdout):
        pytest.fail(f"it never began: {run.communicate()[1]}")
    # As a terminal does: to the command and to all that it has started.
    os.killpg(run.pid, signal.SIGINT)
    _, told = run.communicate()
    return run.returncode, told


def module(folder: Path, name: str) -> Mapping[str, str]:
    """Write a module that replaces the real one and whose import never ends."""
    (folder / f"{name}.py").write_text(ENDLESS)
    return {"PYTHONPATH": str(folder)}


@pytest.mark.parametrize("name", ["click", "rich", "numpy"])
def test_interrupt_during_an_import(tmp_path: Path, name: str) -> None:
    command = ("run", "relu", "--in-process", "--db", str(tmp_path / "results.db"))
    code, told = interrupted(*command, **module(tmp_path, name))
    assert code == INTERRUPTED
    assert told == f"{MESSAGE}\n"


def test_interrupt_during_an_import_that_swallows_exceptions(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text(
        f"try:\n    exec({ENDLESS!r})\nexcept BaseException:\n    pass\nraise ImportError('lost')\n"
    )
    code, told = interrupted("run", PYTHONPATH=str(tmp_path))
    assert (code, told) == (INTERRUPTED, f"{MESSAGE}\n")


def test_interrupt_during_a_compilation(tmp_path: Path, kernels: Path) -> None:
    clang, pipe = tmp_path / "clang", tmp_path / "pipe"
    os.mkfifo(pipe)
    clang.write_text(f"#!{sys.executable}\nopen({str(pipe)!r}, 'w').write('begun')\n{ENDLESS}")
    clang.chmod(0o755)
    run = subprocess.Popen(
        [sys.executable, "-m", "metalbench", "show", "twice", "--kernels", str(kernels)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "METALBENCH_CLANG": str(clang)},
        start_new_session=True,
    )
    assert pipe.read_text() == "begun"
    os.killpg(run.pid, signal.SIGINT)
    assert (run.communicate()[1], run.returncode) == (f"{MESSAGE}\n", INTERRUPTED)


@pytest.mark.parametrize(
    "place",
    [
        "metalbench.workers.pool.WorkerHandle.__init__",
        "metalbench.cli.run.list_trials",
        "metalbench.cli.machine.warn",
        "metalbench.store.store.Store.begin_run",
        "metalbench.cli.run.report",
    ],
)
def test_at_every_step_of_a_run(shell: Any, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    from click.testing import CliRunner

    from metalbench.cli import main

    def press(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, press)
    command = ["run", "twice", "--kernels", str(shell.kernels), "--db", str(shell.db)]
    result = CliRunner().invoke(main, [*command, "--time", "0.01", "--device", "cpu"])
    assert result.exit_code == INTERRUPTED
    assert result.stderr.endswith(f"{MESSAGE}\n")


def test_an_ignored_interrupt_stays_ignored() -> None:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from metalbench.cli.interruption import leave_at_once, raise_from_now_on\n"
        "leave_at_once(); raise_from_now_on()\n"
        "assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
