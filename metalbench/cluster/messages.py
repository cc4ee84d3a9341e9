"""What a seat of a cluster is told and answers, in bytes that nobody but us takes apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from metalbench.errors import EncodingError
from metalbench.isolation.encoding import decode, encode
from metalbench.remote.messages import File, Opened, Opening
from metalbench.result import Result
from metalbench.run.stages import Stage
from metalbench.run.trial import Trial

Message = tuple[str, bytes]


@dataclass(frozen=True)
class Start:
    """How a seat is to begin; `version` is that of metalbench here, and `variables` are set."""

    opening: Opening
    version: str
    variables: dict[str, str]


@dataclass(frozen=True)
class Trying:
    """A trial, with the files that it reads and that have not been sent to the seat before."""

    trial: Trial
    files: tuple[File, ...]
    modules: tuple[File, ...]


@cache
def _types() -> dict[str, Any]:
    return {
        "start": Start,
        "try": Trying,
        "go on": type(None),
        "opened": Opened,
        "stage": Stage,
        "result": Result,
        "machine": str,
        "untried": str,
    }


def packed(name: str, value: object = None) -> Message:
    """A message; raises EncodingError if `value` is not what messages `name` have."""
    return name, encode(value, _types()[name], name)


def unpacked(message: Message) -> tuple[str, Any]:
    """What a message says; raises EncodingError if it is none."""
    name, data = message
    if name not in _types():
        raise EncodingError(f"message: expected one of {', '.join(_types())}; got {name[:40]!r}")
    return name, decode(data, _types()[name], name)
