"""A session may be killed at any moment: nothing is lost, nothing is tried or paid for twice."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import pytest
from steel.model_answers import Step
from steel.model_server import KEY, Asked, ModelServer, kernel
from work_in_vain import KERNEL

from agent_steel.attempt import Attempt, Status
from agent_steel.history import History
from metalbench.store.store import Store

# Values that are as fast as each other, and one that is slow to begin with.
VALUES = (2000, 10, 11, 12, 13)
JUDGED = {Status.KEPT, Status.REVERTED}


def command(folder: Path, db: Path, *arguments: str) -> list[str]:
    options = ("--kernels", str(folder), "--db", str(db))
    return [sys.executable, "-m", "agent_steel", *arguments, *options]


LOOP = (
    *("--kernel-name", "twice", "--loop", "--max-rounds", "1", "--candidates", "3"),
    *("--max-no-improvement", "2", "--time", "0.1", "--device", "cpu"),
)


def start(
    folder: Path, db: Path, log: Path, options: Sequence[str] = LOOP
) -> subprocess.Popen[bytes]:
    asked = ("--resume",) if _session(db) else options
    with log.open("ab") as out:
        return subprocess.Popen(
            command(folder, db, *asked), stdout=out, stderr=out, start_new_session=True
        )


def _session(db: Path) -> bool:
    if not db.exists():
        return False
    with Store(db) as store:
        return History(store).broken_off() is not None


def attempts(db: Path) -> list[Attempt]:
    if not db.exists():
        return []
    raw = sqlite3.connect(db)
    try:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
    finally:
        raw.close()
    with Store(db) as store:
        return list(History(store).of_task("twice"))


def kill_after(moments: Sequence[float], folder: Path, db: Path, log: Path) -> Sequence[float]:
    """Kill a session that often, and let it end; returns the moments that it ended before."""
    before: dict[int, Attempt] = {}
    for used, moment in enumerate(moments):
        left = moments[used:]
        run = start(folder, db, log)
        try:
            assert run.wait(moment) == 0, log.read_text()
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            left = moments[used + 1 :]
        now = {each.number: each for each in attempts(db)}
        for number, attempt in before.items():
            if attempt.status is not Status.PENDING:
                assert now[number] == attempt
            assert now[number].source == attempt.source
        before = now
        if now and not _session(db):
            break  # it had ended, be it that nothing but its process was left to kill
    else:
        left = ()
        assert start(folder, db, log).wait() == 0, log.read_text()
    expect_whole(attempts(db), set(before), log)
    return left


def expect_whole(after: Sequence[Attempt], before: set[int], log: Path) -> None:
    """Nothing is lost, and nothing is there twice."""
    assert {each.number for each in after} >= before
    tried = [each for each in after if each.status is not Status.BASELINE]
    assert {each.status for each in tried} <= JUDGED, log.read_text()
    assert len({each.source_key for each in tried}) == len(tried)
    assert sum(each.status is Status.BASELINE for each in after) == 1
    assert len({each.session for each in after}) == 1


@pytest.fixture
def tunable(folder: Path) -> Path:
    values = ", ".join(map(str, VALUES))
    (folder / "twice.metal").write_text(KERNEL.replace("400, 0, 100", values))
    return folder


@pytest.fixture
def seconds(tunable: Path, tmp_path: Path) -> float:
    """Return how long a session takes if it is not killed."""
    begin = monotonic()
    assert start(tunable, tmp_path / "other.db", tmp_path / "log").wait() == 0
    return monotonic() - begin


@pytest.mark.slow
def test_killed_half_way(tunable: Path, tmp_path: Path, seconds: float) -> None:
    kill_after([0.5 * seconds], tunable, tmp_path / "a.db", tmp_path / "log")


@pytest.mark.slow
def test_killed_at_ten_random_moments(tunable: Path, tmp_path: Path, seconds: float) -> None:
    chance = random.Random(2024)
    moments: Sequence[float] = [chance.uniform(1, seconds) for _ in range(10)]
    # A session keeps what it had, so that it ends after some; the next ones are for the others.
    sessions = 0
    while moments:
        sessions += 1
        left = kill_after(moments, tunable, tmp_path / f"{sessions}.db", tmp_path / "log")
        moments = [0.7 * each for each in left]


@pytest.mark.slow
def test_answers_of_a_killed_session_are_neither_lost_nor_requested_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten kills at random moments of a session that asks a model."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    rounds, moments = 12, [random.Random(7).uniform(2, 12) for _ in range(10)]
    answered: list[str] = []

    def another(_: Asked) -> Step:
        source = f"{KERNEL}constant int answer = {len(answered)};\n"
        answered.append(source)
        return kernel(source, technique=f"answer {len(answered)}")

    db, log = tmp_path / "a.db", tmp_path / "log"
    with ModelServer(another) as server:
        rest = ("--provider", "openai", "--model", "m", "--base-url", server.url("openai"))
        limits = ("--max-rounds", str(rounds), "--max-no-improvement", str(rounds))
        options = (*LOOP, "--candidates", "1", *limits, *rest)
        for moment in moments:
            run = start(folder, db, log, options)
            try:
                run.wait(moment)
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
        assert start(folder, db, log, options).wait() == 0, log.read_text()
    tried = [each for each in attempts(db) if each.status is not Status.BASELINE]
    assert len(tried) >= rounds
    assert {each.status for each in tried} <= JUDGED, log.read_text()
    sources = [each.source for each in tried]
    # Each answer once, and of those that are not there one at most was under way at each kill.
    assert len(set(sources)) == len(sources)
    assert set(sources) <= set(answered)
    assert len(answered) - len(sources) <= len(moments)
    assert sum(each.usage.requests for each in tried) == len(tried)


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [1, 3])
def test_a_killed_population_stays_within_its_limits(
    parallel: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten kills at random moments of a session with a limit of its requests."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    most = 14
    answered: list[str] = []

    def another(_: Asked) -> Step:
        source = f"{KERNEL}constant int answer = {len(answered)};\n"
        answered.append(source)
        return kernel(source, technique=f"answer {len(answered)}")

    db, log = tmp_path / "a.db", tmp_path / "log"
    with ModelServer(another) as server:
        rest = ("--provider", "openai", "--model", "m", "--base-url", server.url("openai"))
        limits = ("--max-rounds", "50", "--max-no-improvement", "50", "--max-requests", str(most))
        many = ("--strategy", "population", "--candidates", "1", "--parallel", str(parallel))
        options = (*LOOP, *many, *limits, *rest)
        for moment in random_moments(10):
            run = start(folder, db, log, options)
            try:
                run.wait(moment)
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
            assert len(server.asked) <= most
            if attempts(db) and not _session(db):
                break
        if _session(db) or not attempts(db):
            assert start(folder, db, log, options).wait() == 0, log.read_text()
        assert len(server.asked) <= most
    assert f"--max-requests {most}: {most} requests were made" in log.read_text()
    tried = [each for each in attempts(db) if each.status is not Status.BASELINE]
    # The limit ends the session, whatever is undecided.
    assert {each.status for each in tried} <= {*JUDGED, Status.UNDECIDED}, log.read_text()
    # Each stored answer once; of the others one at most of each request was under way at a kill.
    sources = [each.source for each in tried]
    assert len(set(sources)) == len(sources)
    assert set(sources) <= set(answered)
    assert {each.island for each in tried} <= {0, 1, 2}
    with Store(db) as store:
        (session,) = {each.session for each in tried}
        assert History(store).usage(session).requests == most


def random_moments(number: int) -> list[float]:
    chance = random.Random(11)
    return [chance.uniform(2, 12) for _ in range(number)]


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_session_names_the_command_to_resume(
    sent: signal.Signals, tunable: Path, tmp_path: Path
) -> None:
    db, log = tmp_path / "a.db", tmp_path / "log"
    run = subprocess.Popen(
        command(tunable, db, "--kernel-name", "twice", "--device", "cpu", "--time", "0.1"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert run.stderr is not None
    lines = []
    for line in run.stderr:
        lines.append(line)
        if "round 1" in line:
            run.send_signal(sent)
            break
    _, said = run.communicate()
    assert run.returncode == 130, said
    assert "`agent_steel --resume` goes on" in said
    # Before the first measurement, which takes long.
    assert "[twice] checking and timing the kernel as it is (attempt 1) ...\n" in lines[:-2]
    kill_after([], tunable, db, log)
