"""What a seat of a cluster is told and answers, in bytes that nobody but us takes apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from metalbench.errors import EncodingError
from metalbench.isolation.encoding import decode, encode
from metalbench.remote.messages import OpenReply, OpenRequest, SentFile
from metalbench.result import Result
from metalbench.run.stages import Stage
from metalbench.run.trial import Trial

Message = tuple[str, bytes]


@dataclass(frozen=True)
class ClusterStart:
    """How a seat is to begin; `version` is that of metalbench here, and `variables` are set."""

    opening: OpenRequest
    version: str
    variables: dict[str, str]


@dataclass(frozen=True)
class ClusterTrial:
    """A trial, with the files that it reads and that have not been sent to the seat before."""

    trial: Trial
    files: tuple[SentFile, ...]
    modules: tuple[SentFile, ...]


@cache
def _list_message_types() -> dict[str, Any]:
    return {
        "start": ClusterStart,
        "try": ClusterTrial,
        "go on": type(None),
        "opened": OpenReply,
        "stage": Stage,
        "result": Result,
        "machine": str,
        "untried": str,
    }


def pack_message(name: str, value: object = None) -> Message:
    """A message; raises EncodingError if `value` is not what messages `name` have."""
    return name, encode(value, _list_message_types()[name], name)


def unpack_message(message: Message) -> tuple[str, Any]:
    """What a message says; raises EncodingError if it is none."""
    name, data = message
    if name not in _list_message_types():
        raise EncodingError(
            f"message: expected one of {', '.join(_list_message_types())}; got {name[:40]!r}"
        )
    return name, decode(data, _list_message_types()[name], name)
