"""`metalbench run` as it is typed: options, Ctrl-C, and no process that outlives it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from metalbench.cli import main
from metalbench.sandbox.resources import list_children
from metalbench.store.store import Store

INTERRUPTED = 130
FEW_SECONDS = 20_000


def command(folder: Path, db: Path, *names: str) -> list[str]:
    options = ("--kernels", str(folder), "--db", str(db), "--time", "0.01", "--device", "cpu")
    return [sys.executable, "-m", "metalbench", "run", *names, *options]


def started(folder: Path, db: Path) -> subprocess.Popen[str]:
    """A run whose first kernel has finished, and whose second will never."""
    run = subprocess.Popen(
        [*command(folder, db, "good", "hangs"), "--kernel-timeout", "60"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert run.stderr is not None
    if not any("good: correct" in line for line in run.stderr):
        run.kill()
        run.communicate()
        pytest.fail("the first kernel has not finished")
    return run


def kept(db: Path) -> list[str]:
    with Store(db) as store:
        return [entry.status for entry in store.history("good")]


def test_a_timeout_and_the_exit_code(folder: Path, tmp_path: Path) -> None:
    arguments = command(folder, tmp_path / "results.db", "hangs")[3:]
    result = CliRunner().invoke(main, [*arguments, "--kernel-timeout", "3"])
    assert result.exit_code == 1
    assert "at most 3 s" in result.stdout


def test_ctrl_c_ends_the_worker_and_stores_finished_results(folder: Path, tmp_path: Path) -> None:
    run = started(folder, tmp_path / "results.db")
    workers = list_children(run.pid)
    run.send_signal(signal.SIGINT)
    run.communicate()
    assert run.returncode == INTERRUPTED
    assert kept(tmp_path / "results.db") == ["correct"]
    assert workers
    for number in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux reports how another's process ended")
def test_workers_of_a_killed_run_end(folder: Path, tmp_path: Path) -> None:
    run = started(folder, tmp_path / "results.db")
    workers = [os.pidfd_open(number) for number in list_children(run.pid)]
    assert workers
    run.kill()
    run.communicate()
    for descriptor in workers:
        watched = select.poll()
        watched.register(descriptor, select.POLLIN)
        assert watched.poll(FEW_SECONDS), "a worker outlives its run"
        os.close(descriptor)
    assert kept(tmp_path / "results.db") == ["correct"]


def test_run_in_this_process_starts_no_worker(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from metalbench.sandbox import process

    def refused(*_: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(process.Process, "__init__", refused)
    arguments = command(folder, tmp_path / "results.db", "good")[3:]
    result = CliRunner().invoke(main, [*arguments, "--in-process"])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("size", "size_bytes"), [("8G", 8 * 2**30), ("512 MiB", 2**29), ("1.5k", 1536), ("7", 7)]
)
def test_sizes_of_memory(size: str, size_bytes: int) -> None:
    import click

    from metalbench.cli.options import _bytes

    option = click.Option(["--memory-limit"])
    assert _bytes(click.Context(main), option, size) == size_bytes


@pytest.mark.parametrize("size", ["", "much", "0", "-1G", "8 GBit"])
def test_run_refuses_invalid_sizes(size: str) -> None:
    result = CliRunner().invoke(main, ["run", "relu", "--memory-limit", size])
    assert result.exit_code == 2
    assert "expected a size such as 512M or 8G" in result.output
