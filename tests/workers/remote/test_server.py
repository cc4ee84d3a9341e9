"""The other side without ssh: `metalbench serve` over a socket."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import IO, Any

import pytest

from metalbench import _core
from metalbench.compare.head_to_head import Match
from metalbench.errors import DeclarationError, EncodingError, MachineError
from metalbench.kernel.library import Library
from metalbench.measure.measurement import Plan
from metalbench.run.trial import Silent, Stage, Trial
from metalbench.store.environment import environment
from metalbench.store.result import Status
from metalbench.workers import server
from metalbench.workers.remote_files import SessionFolder
from metalbench.workers.remote_protocol import HeartbeatConnection
from metalbench.workers.remote_workers import RemoteWorkers, TraceWriter
from metalbench.workers.version import InstalledVersion, get_local_version

from .conftest import SECONDS

QUICK = Plan(seconds=0.02, warmup_ns=0, min_pairs=12, first_analysis=32, batch_pairs=8)
Start = Callable[[], tuple[Connection, "subprocess.Popen[bytes]"]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts the other side, and reads its greeting."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    children: list[subprocess.Popen[bytes]] = []

    def begin() -> tuple[Connection, subprocess.Popen[bytes]]:
        ours, theirs = Pipe()
        with theirs:
            command = [sys.executable, "-m", "metalbench", "serve"]
            streams: dict[str, Any] = {"stdin": theirs.fileno(), "stdout": theirs.fileno()}
            # Of a folder with a package of that name `-m` would run that one.
            children.append(subprocess.Popen(command, cwd=tmp_path, **streams))
        said = b""
        while said.count(b"\n") < 2:
            said += os.read(ours.fileno(), 1)
        assert InstalledVersion.parse(said.decode()) == get_local_version()
        return ours, children[-1]

    yield begin
    for child in children:
        child.kill()
        child.wait()


def trial(kernels: Path, name: str) -> Trial:
    entry = Library([kernels]).entry(name)
    return Trial(entry, entry.kernel(), "float32", "small", plan=QUICK, timed=False)


class Stages(Silent):
    """Lets another session end its turn once somebody waits for it."""

    def __init__(self, other: IO[str]) -> None:
        self.seen: list[Stage] = []
        self.waited = False
        self._other = other

    def stage_started(self, stage: Stage) -> None:
        self.seen.append(stage)

    def stage_detail(self, detail: str) -> None:
        if detail == server.WAITING:
            assert self.seen == []
            self.waited = True
            self._other.close()


def test_matches_are_played_there_in_turn_with_other_sessions(
    start: Start, kernels: Path, tmp_path: Path
) -> None:
    connection, child = start()
    found = RemoteWorkers(HeartbeatConnection.for_client(connection), "there")
    found.open("cpu", seconds=60)
    assert found.facts.kind == "cpu"
    assert found.environment == environment()
    other = server.get_lock_file().open("a")
    fcntl.flock(other, fcntl.LOCK_EX)
    right, wrong, stages = trial(kernels, "twice"), trial(kernels, "thrice"), Stages(other)
    match = Match(right.entry, right.kernel, wrong.kernel, ("a", "b"), size="small", plan=QUICK)
    outcome = found.play(found.facts, match, stages)
    assert stages.waited
    assert stages.seen == [Stage.VERIFY]
    assert outcome.failure is not None
    assert outcome.failure.kind == "WRONG_RESULT"
    with pytest.raises(MachineError, match=r"^\[on\] there: capture: GPU traces are made by Metal"):
        found.capture(right, tmp_path / "a.gputrace")
    found.close()
    assert child.wait(SECONDS) == 0
    assert list(tmp_path.glob("metalbench-on-*")) == []


@pytest.mark.slow
def test_files_prepared_there_are_not_sent_again(start: Start, kernels: Path) -> None:
    connection, _ = start()
    found = RemoteWorkers(HeartbeatConnection.for_client(connection), "there")
    found.open("cpu", seconds=60)
    right, wrong = trial(kernels, "twice"), trial(kernels, "thrice")
    for _ in range(2):
        result = found.attempt(found.facts, right, [wrong], Silent())
        assert result.status is Status.CORRECT, result.failures
        assert result.case.source_hash == right.kernel.hash
    # What a file has become by now is what is tried.
    (kernels / "twice.py").write_text("import no_such_module\n")
    with pytest.raises(DeclarationError, match=rf"{kernels}/twice\.py:1 cannot be imported"):
        found.attempt(found.facts, right, (), Silent())
    found.close()


def test_an_invalid_message_ends_the_server(start: Start, tmp_path: Path) -> None:
    connection, child = start()
    connection.send_bytes(b"eval\nimport os")
    assert child.wait(SECONDS) != 0
    assert list(tmp_path.glob("metalbench-on-*")) == []


def test_sent_files_stay_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    folder = SessionFolder(Path("/home/me"), Path("/usr/include"))
    folder.write_file(Path("/home/me/a.py"), b"1")
    folder.write_file(Path("b/../c.py"), b"2")
    assert (folder.root / "home/me/a.py").read_bytes() == b"1"
    assert Path("c.py").read_bytes() == b"2"
    assert folder.restore_paths(f"{folder.root}/home/me/a.py:3: what") == "/home/me/a.py:3: what"
    for path in ("../../../d.py", "/../d.py"):
        with pytest.raises(EncodingError, match="within the session's folder"):
            folder.write_file(Path(path), b"3")
    with pytest.raises(EncodingError, match="within the session's folder"):
        folder.write_module(Path("../d.py"), b"3")
    with pytest.raises(MachineError, match=r"a\.py/b cannot be written there: File exists"):
        folder.write_file(Path("/home/me/a.py/b"), b"4")
    folder.remove()
    assert list(tmp_path.glob("metalbench-on-*")) == []


@pytest.mark.parametrize("bundle", [True, False])
def test_traces_are_received_by_file(
    bundle: bool, kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def capture(device: Any, trial: Trial, path: Path) -> None:
        (path / "inner").mkdir(parents=True) if bundle else None
        (path / "inner" / "empty" if bundle else path).write_bytes(b"")
        (path / "metadata" if bundle else path).write_bytes(b"0123456789")

    monkeypatch.setattr(server, "check_captures", lambda device: None)
    monkeypatch.setattr(server, "capture", capture)
    monkeypatch.setattr(server, "PART_BYTES", 4)
    messages = list(server._capture_trace(_core.open("cpu"), trial(kernels, "twice")))
    assert messages.pop() == ("captured", None)
    path = tmp_path / "a.gputrace"
    with TraceWriter(path) as trace:
        for name, part in messages:
            assert name == "part"
            trace.add(part)
    assert (path / "metadata" if bundle else path).read_bytes() == b"0123456789"
    assert not bundle or (path / "inner" / "empty").read_bytes() == b""
    assert [each.name for each in tmp_path.glob("a*")] == ["a.gputrace"]
