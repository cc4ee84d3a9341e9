"""Messages between a run and its workers.

A kernel may have written to the memory of a worker. So nothing in a message is executed, and
decoded values have only the types that `messages` declares.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from multiprocessing.connection import Connection, wait
from typing import Any

from metalbench.errors import EncodingError

# Messages between a run and its workers: names and value types.

NOTHING = type(None)


@cache
def list_worker_messages() -> dict[str, Any]:
    """Return the messages that workers send."""
    from metalbench.compare.head_to_head import MatchOutcome
    from metalbench.run.trial import Stage
    from metalbench.store.result import Case, Result

    return {
        "open": str,
        "ready": NOTHING,
        "case": Case,
        "stage": Stage,
        "detail": str,
        "progress": float,
        "result": Result,
        "outcome": MatchOutcome,
        # These end a trial without a fault of the kernel: a problem of the machine, and a problem
        # of the task's file or of the request.
        "machine": str,
        "untried": str,
        # The system ended a GPU run because of other work on the GPU.
        "disturbed": str,
    }


@cache
def list_run_messages() -> dict[str, Any]:
    """Return the messages that runs send."""
    from metalbench.compare.head_to_head import Match
    from metalbench.run.trial import Trial

    return {
        "prepare": Trial,
        "try": Trial,
        "play": Match,
        "begin": NOTHING,
        "go on": NOTHING,
    }


Message = tuple[str, Any]
# Far more than any result needs.
MOST_BYTES = 2**28


class Channel:
    """One end of a connection. Methods raise EOFError or OSError if the other end is closed."""

    def __init__(
        self,
        connection: Connection,
        list_outgoing: Callable[[], dict[str, Any]],
        list_incoming: Callable[[], dict[str, Any]],
    ) -> None:
        self._connection = connection
        self._list_outgoing = list_outgoing
        self._list_incoming = list_incoming

    @classmethod
    def for_run(cls, connection: Connection) -> Channel:
        """Return the end in the process of the run."""
        return cls(connection, list_run_messages, list_worker_messages)

    @classmethod
    def for_worker(cls, connection: Connection) -> Channel:
        """Return the end in the process of the worker."""
        return cls(connection, list_worker_messages, list_run_messages)

    def send(self, name: str, value: object = None) -> None:
        """Send a message. Raises EncodingError if `value` does not match the type of `name`."""
        from metalbench.sandbox.encoding import encode

        encoded = encode(value, self._list_outgoing()[name], name)
        self._connection.send_bytes(name.encode("ascii") + b"\n" + encoded)

    def receive(self) -> Message:
        """Wait for a message and return it. Raises EncodingError if it is malformed."""
        from metalbench.sandbox.encoding import decode

        head, _, data = self._receive_bytes().partition(b"\n")
        name = head.decode("ascii", errors="replace")
        known = self._list_incoming()
        if name not in known:
            raise EncodingError(f"message: expected one of {', '.join(known)}; got {name[:40]!r}")
        return name, decode(data, known[name], name)

    def _receive_bytes(self) -> bytes:
        try:
            return self._connection.recv_bytes(MOST_BYTES)
        except OSError as error:
            if self._connection.readable:
                raise
            # `Connection` closes itself after a message above the limit.
            raise EncodingError(
                f"message: expected {MOST_BYTES} bytes at most, got more"
            ) from error

    def wait_for_message(self, seconds: float) -> bool:
        """Return whether a message, or the end of the connection, comes within this time."""
        return self._connection.poll(seconds)

    def wait_for_either(self, other: Channel, seconds: float) -> bool:
        """Wait until a message or the end comes over this or the other channel; whether over this.

        The two are ends in the process of the run.
        """
        both = [self._connection, other._connection]
        return self._connection in wait(both, seconds)

    def close(self) -> None:
        """Close this end."""
        self._connection.close()
