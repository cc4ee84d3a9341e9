"""Messages between two machines: their names, types and a connection with a heartbeat."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, cast

from metalbench.compare.head_to_head import Match, MatchOutcome
from metalbench.run.trial import Stage, Trial
from metalbench.store.environment import Environment
from metalbench.store.result import DeviceFacts, Result
from metalbench.workers.channel import Channel, Message

NOTHING = type(None)


@dataclass(frozen=True)
class OpenRequest:
    """The request for a device, with the limits of a kernel; None is half of the memory.

    `folder` is the one that relative paths are relative to, `headers` that of the library's
    headers.
    """

    device: str
    seconds: float
    memory_bytes: int | None
    folder: Path
    headers: Path


@dataclass(frozen=True)
class OpenReply:
    """The other machine; `warnings` say what speaks against measuring there now."""

    device: DeviceFacts
    environment: Environment
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class SentFile:
    """A file that kernels or tasks read, under the path that it has here.

    As a module it is one on Python's path.
    """

    path: Path
    data: bytes


@dataclass(frozen=True)
class TrialRequest:
    """A trial, and those that come after it, which may be made ready."""

    trial: Trial
    following: tuple[Trial, ...]


@dataclass(frozen=True)
class TracePart:
    """The next part of a file of a GPU trace, by its path within the trace."""

    path: str
    data: bytes


@cache
def list_client_messages() -> dict[str, Any]:
    """Return the types of the messages that the client sends, by name."""
    return {
        "open": OpenRequest,
        "file": SentFile,
        "module": SentFile,
        "try": TrialRequest,
        "play": Match,
        "capture": Trial,
        # Every few seconds, whatever else there is.
        "beat": NOTHING,
    }


@cache
def list_server_messages() -> dict[str, Any]:
    """Return the types of the messages that the server sends, by name."""
    return {
        "opened": OpenReply,
        "stage": Stage,
        "detail": str,
        "progress": float,
        "result": Result,
        "outcome": MatchOutcome,
        "part": TracePart,
        "captured": NOTHING,
        # These end what was asked for, and no kernel is to blame.
        "machine": str,
        "untried": str,
        "beat": NOTHING,
    }


# Messages between machines, with a heartbeat that detects a lost connection.

# Each side sends at least this often, and is given up after this long a silence.
SECONDS_BETWEEN_BEATS = 10.0
SECONDS_OF_SILENCE = 60.0


class DuplexConnection:
    """A connection whose two directions are two descriptors, as standard input and output are."""

    readable = True

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = Connection(reading, writable=False)
        self._writing = Connection(writing, readable=False)

    def send_bytes(self, data: bytes) -> None:
        """Send one message."""
        self._writing.send_bytes(data)

    def recv_bytes(self, most: int) -> bytes:
        """Wait for one message."""
        return self._reading.recv_bytes(most)

    def poll(self, seconds: float) -> bool:
        """Return whether a message, or the end of the stream, arrives within `seconds`."""
        return self._reading.poll(seconds)

    def close(self) -> None:
        """Close both directions."""
        self._reading.close()
        self._writing.close()


class HeartbeatConnection:
    """One end. Raises EOFError or OSError when the other one is gone, or was silent too long."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._sending = Lock()
        self._closed = Event()

    @classmethod
    def for_client(cls, connection: Connection) -> HeartbeatConnection:
        """The end at which somebody waits; from here on it tells that somebody is there."""
        line = cls(Channel(connection, list_client_messages, list_server_messages))
        Thread(target=line._beat, daemon=True).start()
        return line

    @classmethod
    def for_server(cls, connection: DuplexConnection) -> HeartbeatConnection:
        """Return the server's connection. It answers each heartbeat with another one."""
        return cls(
            Channel(cast(Connection, connection), list_server_messages, list_client_messages)
        )

    def send(self, name: str, value: Any = None) -> None:
        """Send a message; raises EncodingError if `value` is not what messages `name` have."""
        with self._sending:
            self._channel.send(name, value)

    def receive(self) -> Message:
        """Wait for a message other than a beat; raises EncodingError if what comes is none."""
        heard = monotonic()
        while True:
            left = heard + SECONDS_OF_SILENCE - monotonic()
            if not self._channel.wait_for_message(max(0.0, left)):
                raise EOFError(f"nothing was heard for {SECONDS_OF_SILENCE:g} s")
            message = self._channel.receive()
            if message[0] != "beat":
                return message
            heard = monotonic()

    def receive_any(self) -> Message:
        """Wait for a message, beats included, and answer those."""
        if not self._channel.wait_for_message(SECONDS_OF_SILENCE):
            raise EOFError(f"nothing was heard for {SECONDS_OF_SILENCE:g} s")
        message = self._channel.receive()
        if message[0] == "beat":
            self.send("beat")
        return message

    def close(self) -> None:
        """Say no more."""
        self._closed.set()
        self._channel.close()

    def _beat(self) -> None:
        while not self._closed.wait(SECONDS_BETWEEN_BEATS):
            try:
                self.send("beat")
            except OSError:
                return
