"""What two machines tell each other: names of messages, and the type of what each has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from metalbench.comparison.match import Match, MatchOutcome
from metalbench.result import DeviceFacts, Result
from metalbench.result.environment import Environment
from metalbench.run.stages import Stage
from metalbench.run.trial import Trial

NOTHING = type(None)


@dataclass(frozen=True)
class OpenRequest:
    """What device is wanted, and what a kernel may use up there; None is half of its memory.

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
    """What the machine sends at which somebody waits."""
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
    """What the machine sends at which kernels run."""
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
