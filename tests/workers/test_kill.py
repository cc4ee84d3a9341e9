"""A run may be killed at any moment: what it has printed is kept, and the store stays whole."""

from __future__ import annotations

import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

KERNELS = ("good", "finds_no_mark", "raises", "exits", "leaves_a_mark")
PRINTED = re.compile(r"^\[\d+/\d+\] \w+: \w+", re.MULTILINE)


def start(folder: Path, db: Path, log: Path) -> subprocess.Popen[bytes]:
    options = ("--kernels", str(folder), "--db", str(db), "--time", "0.01", "--device", "cpu")
    with log.open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "metalbench", "run", *KERNELS, *options],
            stdout=subprocess.DEVNULL,
            stderr=out,
            start_new_session=True,
        )


def results(db: Path) -> int:
    """Return the number of stored results of a store that must be complete."""
    if not db.exists():
        return 0
    connection = sqlite3.connect(db)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            return 0
        return int(connection.execute("SELECT count(*) FROM results").fetchone()[0])
    finally:
        connection.close()


def kill_after(moments: Sequence[float], folder: Path, tmp_path: Path) -> None:
    """Kill a run after each of these seconds, always with the same store."""
    db, log = tmp_path / "results.db", tmp_path / "log"
    for moment in moments:
        before = results(db)
        run = start(folder, db, log)
        try:
            run.wait(moment)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
        printed = len(PRINTED.findall(log.read_text()))
        kept = results(db) - before
        assert printed <= kept <= printed + 1, f"killed after {moment:.3f} s: {log.read_text()}"
    before = results(db)
    assert start(folder, db, log).wait() == 1
    assert results(db) - before == len(KERNELS)


def test_killed_after_two_results(folder: Path, tmp_path: Path) -> None:
    db, log = tmp_path / "results.db", tmp_path / "log"
    run = start(folder, db, log)
    while len(PRINTED.findall(log.read_text())) < 2:
        assert run.poll() is None, log.read_text()
        with suppress(subprocess.TimeoutExpired):
            run.wait(0.05)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    printed = len(PRINTED.findall(log.read_text()))
    kept = results(db)
    assert printed <= kept <= printed + 1, log.read_text()
    assert start(folder, db, log).wait() == 1
    assert results(db) - kept == len(KERNELS)


@pytest.fixture
def seconds(folder: Path, tmp_path: Path) -> float:
    """Return how long the run takes if it is not killed."""
    begin = monotonic()
    start(folder, tmp_path / "other.db", tmp_path / "log").wait()
    return monotonic() - begin


@pytest.mark.slow
def test_killed_halfway(folder: Path, tmp_path: Path, seconds: float) -> None:
    kill_after([0.6 * seconds], folder, tmp_path)


@pytest.mark.slow
def test_killed_at_twenty_random_moments(folder: Path, tmp_path: Path, seconds: float) -> None:
    chance = random.Random(2024)
    kill_after([chance.uniform(0, seconds) for _ in range(20)], folder, tmp_path)
