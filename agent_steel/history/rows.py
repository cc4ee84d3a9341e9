"""Attempts, and what they are of, as rows of the store."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_steel.attempt import Attempt, Status
from agent_steel.usage import Usage
from metalbench.stats import Interval

# In the order in which `attempt_of` reads them.
_PLAIN = (
    *("session", "task", "dtype", "size", "parent", "rival", "round", "source_key", "diagnosis"),
    *("wording", "summary", "technique", "proposer", "model", "error", "proposed_at", "judged_at"),
    *("measured_from", "measured_to"),
)
_INTERVALS = ("ratio", "steadiness")
_USAGE = ("tokens_in", "tokens_out", "cost", "requests")
_NAMES = (
    *("attempts.id", "sources.text", "tunables", "fate"),
    *(f"{name}{end}" for name in _INTERVALS for end in ("", "_low", "_high")),
    *_USAGE,
    *_PLAIN,
)
SELECTED = ", ".join(_NAMES)


@dataclass(frozen=True)
class Place:
    """The key of a history: device, task, element type and size.

    `engine` is the execution mode of the cpu device, empty for a GPU.
    """

    device_kind: str
    device_name: str
    device_cores: int
    engine: str
    task: str
    dtype: str
    size: str

    @property
    def columns(self) -> dict[str, object]:
        """Its columns by name."""
        names = ("device_kind", "device_name", "device_cores", "engine", "task", "dtype", "size")
        return dict(zip(names, self.row, strict=True))

    @property
    def row(self) -> tuple[object, ...]:
        """The values of its columns."""
        device = (self.device_kind, self.device_name, self.device_cores, self.engine)
        return (*device, self.task, self.dtype, self.size)


def columns_of(attempt: Attempt) -> dict[str, object]:
    """Return the columns of an attempt that are not of its place, but for its source."""
    usage = attempt.usage
    return {
        **{name: getattr(attempt, name) for name in _PLAIN},
        **_ends("ratio", attempt.ratio),
        **_ends("steadiness", attempt.steadiness),
        **{name: getattr(usage, name) for name in _USAGE},
        "tunables": json.dumps(dict(attempt.tunables)),
        "fate": attempt.status.value,
    }


def _ends(name: str, interval: Interval | None) -> dict[str, object]:
    known = interval is not None and interval.is_bounded
    return {
        name: interval.value if interval else None,
        f"{name}_low": interval.low if interval and known else None,
        f"{name}_high": interval.high if interval and known else None,
    }


def attempt_of(row: Sequence[Any]) -> Attempt:
    """Return the attempt of a row of SELECTED."""
    found = dict(zip(_NAMES, row, strict=True))
    return Attempt(
        number=found["attempts.id"],
        source=found["sources.text"],
        tunables=json.loads(found["tunables"]),
        status=Status(found["fate"]),
        usage=Usage(**{name: found[name] for name in _USAGE}),
        ratio=_interval(found, "ratio"),
        steadiness=_interval(found, "steadiness"),
        **{name: found[name] for name in _PLAIN},
    )


def _interval(found: dict[str, Any], name: str) -> Interval | None:
    value, low, high = (found[f"{name}{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return None
    return Interval(value, -math.inf if low is None else low, math.inf if high is None else high)
