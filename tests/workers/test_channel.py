"""Messages of a worker cannot make the run execute code."""

from __future__ import annotations

import ast
import os
import pickle
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import pytest
from example_results import correct

import metalbench.workers
from metalbench.errors import EncodingError
from metalbench.run.trial import Stage
from metalbench.workers import channel
from metalbench.workers.channel import Channel


@pytest.fixture
def pipe() -> Iterator[tuple[Connection, Connection]]:
    left, right = Pipe()
    with left, right:
        yield left, right


@pytest.fixture
def ends(pipe: tuple[Connection, Connection]) -> tuple[Channel, Channel]:
    """The worker's end and the run's."""
    return Channel.for_worker(pipe[0]), Channel.for_run(pipe[1])


def test_the_channel_round_trips_messages(ends: tuple[Channel, Channel]) -> None:
    worker, run = ends
    for name, value in (("open", "a filter"), ("stage", Stage.CHECK), ("progress", 0.5)):
        worker.send(name, value)
        assert run.receive() == (name, value)
    worker.send("result", correct("relu"))
    assert repr(run.receive()) == repr(("result", correct("relu")))
    run.send("go on")
    assert worker.receive() == ("go on", None)


class Command:
    """Leaves a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_the_channel_never_unpickles(
    pipe: tuple[Connection, Connection], ends: tuple[Channel, Channel], tmp_path: Path
) -> None:
    for data in (pickle.dumps(("result", Command(tmp_path / "a"))), b"result\n"):
        pipe[0].send_bytes(data + pickle.dumps(Command(tmp_path / "a")))
        with pytest.raises(EncodingError):
            ends[1].receive()
    assert list(tmp_path.iterdir()) == []


def test_modules_of_the_protocol_do_not_unpickle() -> None:
    folder = Path(metalbench.workers.__file__).parent
    found = []
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [each.name for each in getattr(node, "names", ()) if hasattr(each, "name")]
            module = getattr(node, "module", None) or ""
            # `Connection.recv` unpickles; `recv_bytes` does not.
            if {"pickle", "marshal", "shelve"} & {module, *names} or (
                isinstance(node, ast.Attribute) and node.attr == "recv"
            ):
                found.append(f"{path.name}:{node.lineno}")
    assert found == []


def test_a_channel_carries_only_messages_of_its_direction(
    pipe: tuple[Connection, Connection], ends: tuple[Channel, Channel]
) -> None:
    with pytest.raises(KeyError):
        ends[0].send("try")
    for name in (b"go on\n", b"\xff\n", b""):
        pipe[0].send_bytes(name)
        with pytest.raises(EncodingError, match="message: expected one of open, ready"):
            ends[1].receive()


def test_a_too_long_message_is_refused_before_it_is_read(
    pipe: tuple[Connection, Connection],
    ends: tuple[Channel, Channel],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel, "MOST_BYTES", 100)
    pipe[0].send_bytes(bytes(101))
    with pytest.raises(EncodingError, match="expected 100 bytes at most"):
        ends[1].receive()


def test_a_closed_channel_is_reported(ends: tuple[Channel, Channel]) -> None:
    ends[0].close()
    assert ends[1].wait_for_message(0)
    with pytest.raises(EOFError):
        ends[1].receive()
