"""Messages between two machines, of which each notices when the other one is gone."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

import pytest

from metalbench.errors import EncodingError, MachineError
from metalbench.run.trial import Stage
from metalbench.workers import remote_protocol
from metalbench.workers.remote_protocol import (
    DuplexConnection,
    HeartbeatConnection,
    SentFile,
    TracePart,
)
from metalbench.workers.remote_workers import RemoteWorkers, TraceWriter
from metalbench.workers.ssh import ConnectionLostError, RemoteError

Ends = tuple[Connection, DuplexConnection]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Our connection, and the two descriptors of the other side."""
    ours, theirs = Pipe()
    both = DuplexConnection(os.dup(theirs.fileno()), os.dup(theirs.fileno()))
    theirs.close()
    yield ours, both
    for each in (ours, both):
        if not getattr(each, "closed", False):
            each.close()


def test_the_connection_round_trips_messages(ends: Ends) -> None:
    here, there = HeartbeatConnection.for_client(ends[0]), HeartbeatConnection.for_server(ends[1])
    file = SentFile(Path("a/b.h"), bytes(range(256)))
    here.send("file", file)
    assert there.receive() == ("file", file)
    there.send("stage", Stage.CHECK)
    assert here.receive() == ("stage", Stage.CHECK)
    here.close()
    with pytest.raises(EOFError):
        there.receive()


def test_heartbeats_are_answered_and_not_received(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_protocol, "SECONDS_BETWEEN_BEATS", 0.001)
    here, there = HeartbeatConnection.for_client(ends[0]), HeartbeatConnection.for_server(ends[1])
    assert [there.receive_any() for _ in range(3)] == [("beat", None)] * 3
    there.send("detail", "small")
    assert here.receive() == ("detail", "small")
    here.close()


def test_a_silent_connection_is_closed(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_protocol, "SECONDS_OF_SILENCE", 0.01)
    here, there = HeartbeatConnection.for_client(ends[0]), HeartbeatConnection.for_server(ends[1])
    with pytest.raises(EOFError, match=r"nothing was heard for 0\.01 s"):
        there.receive_any()
    hung_up: list[bool] = []
    found = RemoteWorkers(here, "mac", disconnect=lambda: hung_up.append(True))
    with pytest.raises(ConnectionLostError, match=r"to mac broke(?s:.)*nothing was heard"):
        found.open("cpu", seconds=1)
    with pytest.raises(ConnectionLostError, match="is closed"):
        found.open("cpu", seconds=1)
    assert hung_up == [True]


class Command:
    """Leaves a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


def test_the_client_never_unpickles(ends: Ends, tmp_path: Path) -> None:
    found = RemoteWorkers(HeartbeatConnection.for_client(ends[0]), "mac")
    ends[1].send_bytes(pickle.dumps(("opened", Command(tmp_path / "a"))))
    with pytest.raises(RemoteError, match="mac sent a malformed message"):
        found.open("cpu", seconds=1)
    assert list(tmp_path.iterdir()) == []


def test_an_unrequested_part_is_refused(ends: Ends) -> None:
    found, there = (
        RemoteWorkers(HeartbeatConnection.for_client(ends[0]), "mac"),
        HeartbeatConnection.for_server(ends[1]),
    )
    there.send("part", TracePart("a", b""))
    with pytest.raises(EncodingError, match="is not a reply to the request"):
        found.open("cpu", seconds=1)
    found.close()


def test_errors_of_a_machine_name_it(ends: Ends) -> None:
    found, there = (
        RemoteWorkers(HeartbeatConnection.for_client(ends[0]), "ssh://mac"),
        HeartbeatConnection.for_server(ends[1]),
    )
    there.send("machine", "memory does not suffice")
    with pytest.raises(MachineError, match=r"^\[on\] ssh://mac: memory does not suffice"):
        found.open("cpu", seconds=1)
    found.close()


@pytest.mark.parametrize("name", ["../a", "/etc/a", "a/../../b", "a\0b"])
def test_a_trace_refuses_files_outside_of_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.gputrace"
    trace = TraceWriter(path)
    trace.add(TracePart("inner/a", b"1"))
    with pytest.raises(EncodingError, match="path of a file within it"), trace:
        trace.add(TracePart(name, b"2"))
    assert list(tmp_path.iterdir()) == []
