"""`metalbench run --on`: kernels are tried on another machine, and all that comes of it is here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest
from click.testing import CliRunner, Result

from metalbench.cli import main
from metalbench.store.store import Store

from .conftest import SECONDS, Machine

Run = Callable[..., Result]
QUICK = ("--on", "ssh://mac", "--device", "cpu", "--time", "0.05")


@pytest.fixture
def run(tmp_path: Path, kernels: Path) -> Run:
    def run(*arguments: str) -> Result:
        where = ("--kernels", str(kernels), "--db", str(tmp_path / "results.db"))
        return CliRunner().invoke(main, ["run", *arguments, *where])

    return run


def kept(db: Path) -> list[tuple[str, str]]:
    """Task and status of every result that is kept."""
    if not db.exists():
        return []
    with Store(db) as store:
        runs = store.runs()
        return [(each.task, each.status) for run in runs for each in store.results(run)]


# Starts the command with another name of the system, which tells that machine from this one.
ANOTHER_SYSTEM = (
    "import platform; platform.release = lambda: 'elsewhere'; "
    "from metalbench.__main__ import main; main()"
)


def test_a_remote_run_is_stored_with_the_environment_of_its_machine(
    machine: Machine, run: Run, tmp_path: Path
) -> None:
    machine.has(
        f'echo "You have mail."; exec 9> "$TEST_FIFO"; exec {sys.executable} -c "{ANOTHER_SYSTEM}" '
        '"$@"'
    )
    done = run("twice", "thrice", *QUICK)
    assert done.exit_code == 1, done.output
    assert "On ssh://mac: cpu (" in done.stderr
    assert "elsewhere; each is verified here first, on the cpu device" in done.stderr
    assert "[1/2] twice: correct, " in done.stderr
    assert "[2/2] thrice: incorrect" in done.stderr
    said = " ".join(done.output.split())
    assert "so that it was not sent to ssh://mac; --no-verify-here sends it as it is" in said
    db = tmp_path / "results.db"
    assert kept(db) == [("twice", "correct"), ("thrice", "incorrect")]
    with Store(db) as store:
        (entry, _) = store.results(store.runs()[0])
        assert store.environment_of(entry.id)["os"].endswith(" elsewhere")
        assert store.samples(entry.id)["kernel"].size > 0
    machine.wait_until_nothing_runs()


@pytest.mark.slow
def test_remote_errors_have_local_paths(machine: Machine, run: Run, kernels: Path) -> None:
    path = kernels / "thrice.metal"
    path.write_text(path.read_text().replace("3 * x[i]", "undeclared"))
    done = run("thrice", *QUICK, "--no-verify-here")
    assert done.exit_code == 1, done.output
    assert f"{path}:8:10: error: use of undeclared identifier" in done.output
    machine.wait_until_nothing_runs()


def started(kernels: Path, db: Path, log: Path) -> subprocess.Popen[bytes]:
    """A run of two kernels of which the second never ends there."""
    command = ["run", "twice", "hangs", *QUICK, "--no-verify-here"]
    where = ["--kernels", str(kernels), "--db", str(db)]
    with log.open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "metalbench", *command, *where],
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def wait_until_the_second_runs(machine: Machine, log: Path) -> None:
    """Return when the second kernel hangs. It begins before the first one's checks have ended."""
    machine.wait_until_begun()
    end = monotonic() + SECONDS
    while "[1/2] twice" not in log.read_text():
        assert monotonic() < end, log.read_text()
        sleep(0.05)


def test_a_dropped_connection_keeps_finished_results(
    machine: Machine, kernels: Path, tmp_path: Path
) -> None:
    db, log = tmp_path / "results.db", tmp_path / "log"
    with started(kernels, db, log) as done:
        wait_until_the_second_runs(machine, log)
        machine.drop_connections()
        assert done.wait(SECONDS) == 2
    said = log.read_text()
    assert "the connection to ssh://mac broke, and with it ended what ran there" in said
    assert "Not finished: 1 of 2." in said
    assert "metalbench run hangs\n" in said
    assert kept(db) == [("twice", "correct")]
    machine.wait_until_nothing_runs()


def test_ctrl_c_ends_the_remote_run_and_stores_finished_results(
    machine: Machine, kernels: Path, tmp_path: Path
) -> None:
    db, log = tmp_path / "results.db", tmp_path / "log"
    with started(kernels, db, log) as done:
        wait_until_the_second_runs(machine, log)
        # As a terminal does, to ssh as well.
        os.killpg(done.pid, signal.SIGINT)
        assert done.wait(SECONDS) == 130
    assert "Interrupted. 1 kernel had finished and is kept." in log.read_text()
    assert kept(db) == [("twice", "correct")]
    machine.wait_until_nothing_runs()


@pytest.mark.slow
def test_a_killed_run_leaves_no_process_there(
    machine: Machine, kernels: Path, tmp_path: Path
) -> None:
    db = tmp_path / "results.db"
    with started(kernels, db, tmp_path / "log") as done:
        machine.wait_until_begun()
        done.kill()
        done.wait()
    assert kept(db) == [("twice", "correct")]
    machine.wait_until_nothing_runs()
