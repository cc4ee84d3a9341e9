"""Recorded sessions: a public format of one JSON object on each line, and how to read it.

docs/reference/recorded-sessions.md describes every field.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_steel.attempt import Attempt, Status, Usage
from agent_steel.proposal import Diagnosis, Exchange, Fact
from metalbench.errors import DeclarationError
from metalbench.safe_text import json_text
from metalbench.stats import Interval

if TYPE_CHECKING:
    from agent_steel.history.history import ExchangeContext, History, Session

FORMAT = "agent_steel.session"
VERSION = 1
# Where things are on one machine is left out.
LOCAL_OPTIONS = ("db", "replay", "resume")


def export_session(history: History, session: Session) -> Iterator[str]:
    """Yield the lines of a session: its head, diagnoses, requests and attempts."""
    attempts = {each.number: each for each in history.of_session(session.number)}
    # Parents may be of an earlier session.
    for number in [each.parent for each in attempts.values()]:
        if number is not None and number not in attempts:
            found = history.attempt(number)
            attempts |= {number: found} if found is not None else {}
    options = {name: each for name, each in session.options.items() if name not in LOCAL_OPTIONS}
    yield _line(
        "session",
        format=FORMAT,
        version=VERSION,
        session=session.number,
        started_at=session.started_at,
        finished_at=session.finished_at,
        outcome=session.outcome,
        options=options,
    )
    for number, diagnosis in history.diagnoses(session.number):
        yield _line("diagnosis", attempt=number, **asdict(diagnosis))
    exchanges = history.exchanges(session=session.number)
    for record in list_requests(exchanges, attempts):
        yield json_text(record, allow_nan=False) + "\n"
    for each in sorted(attempts.values(), key=lambda each: each.number):
        yield _line("attempt", **attempt_record(each))


def _line(kind: str, **fields: Any) -> str:
    return json_text({"type": kind, **fields}, allow_nan=False) + "\n"


def list_requests(
    exchanges: Sequence[tuple[ExchangeContext, Exchange]], attempts: Mapping[int, Attempt]
) -> Iterator[dict[str, Any]]:
    """Yield the record of each request to a model, with its place among those of its round."""
    calls: dict[tuple[int, str, int], list[object]] = {}
    step, last = 0, None
    for context, exchange in exchanges:
        # Requests of earlier versions have no number of their call.
        call: object = context.call if context.call is not None else ("attempt", context.attempt)
        several = calls.setdefault((context.session, context.task, context.round), [])
        if call not in several:
            several.append(call)
        step = step + 1 if (context.session, call) == last else 0
        last = (context.session, call)
        attempt = attempts.get(context.attempt or 0)
        known = asdict(context)
        del known["call"]
        yield {
            "type": "request",
            **known,
            "index": several.index(call),
            "step": step,
            "parent": None if attempt is None else attempt.parent,
            **asdict(exchange),
            "outcome": None if attempt is None else attempt.status.value,
        }


def attempt_record(attempt: Attempt) -> dict[str, Any]:
    """Return an attempt with its judgement as JSON can hold it."""
    fields = asdict(attempt)
    return {
        **fields,
        "status": attempt.status.value,
        "ratio": _write(attempt.ratio),
        "steadiness": _write(attempt.steadiness),
        "objectives": {name: _write(each) for name, each in attempt.objectives.items()},
    }


def _write(interval: Interval | None) -> list[float | None] | None:
    if interval is None:
        return None
    ends = (interval.low, interval.high) if interval.is_bounded else (None, None)
    return [interval.value, *ends]


def _read_interval(record: Sequence[float | None] | None) -> Interval | None:
    if record is None:
        return None
    value, low, high = record
    assert value is not None
    return Interval(value, -math.inf if low is None else low, math.inf if high is None else high)


@dataclass(frozen=True)
class RecordedCall:
    """The requests that led to one answer of a proposer, oldest first."""

    task: str
    round: int
    index: int
    attempt: int | None
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True)
class Recording:
    """A session that was read from a file. `attempts` and `diagnoses` are by number of attempt."""

    path: Path
    outcome: str | None
    options: Mapping[str, Any]
    calls: tuple[RecordedCall, ...] = ()
    attempts: Mapping[int, Attempt] = field(default_factory=dict)
    diagnoses: Mapping[int, Diagnosis] = field(default_factory=dict)


def read_recording(path: Path) -> Recording:
    """Read a session. Raise DeclarationError, with the line, for a file of another format."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DeclarationError(f"[replay] {path}: cannot be read: {error}") from None
    head: Mapping[str, Any] | None = None
    attempts: dict[int, Attempt] = {}
    diagnoses: dict[int, Diagnosis] = {}
    requests: list[dict[str, Any]] = []
    for place, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            kind = record["type"]
            if head is None:
                head = _read_head(record)
            elif kind == "request":
                requests.append(record)
            elif kind == "attempt":
                attempts[record["number"]] = _read_attempt(record)
            elif kind == "diagnosis":
                facts = tuple(Fact(**each) for each in record["facts"])
                diagnoses[record["attempt"]] = Diagnosis(record["bound"], record["text"], facts)
        except (ValueError, KeyError, TypeError) as error:
            raise DeclarationError(
                f"[replay] {path}:{place}: expected a line of {FORMAT} version {VERSION}, got "
                f"{type(error).__name__}: {error}; `agent_steel export-session` writes such a file"
            ) from None
    if head is None:
        raise DeclarationError(
            f"[replay] {path}: it is empty; `agent_steel export-session` writes such a file"
        )
    calls = tuple(_group_calls(requests))
    return Recording(path, head["outcome"], head["options"], calls, attempts, diagnoses)


def _read_head(record: Mapping[str, Any]) -> Mapping[str, Any]:
    if (record["type"], record.get("format")) != ("session", FORMAT):
        raise ValueError("the first line is not the head of a session")
    if record["version"] != VERSION:
        raise ValueError(f"version {record['version']}")
    return {"outcome": record["outcome"], "options": dict(record["options"])}


def _read_attempt(record: Mapping[str, Any]) -> Attempt:
    plain = {name: each for name, each in record.items() if name != "type"}
    objectives = {name: _read_interval(each) for name, each in plain["objectives"].items()}
    return Attempt(
        **{
            **plain,
            "status": Status(plain["status"]),
            "usage": Usage(**plain["usage"]),
            "ratio": _read_interval(plain["ratio"]),
            "steadiness": _read_interval(plain["steadiness"]),
            "objectives": {name: each for name, each in objectives.items() if each is not None},
        }
    )


def _group_calls(requests: Sequence[Mapping[str, Any]]) -> Iterator[RecordedCall]:
    grouped: dict[tuple[str, int, int], list[Mapping[str, Any]]] = {}
    for each in requests:
        grouped.setdefault((each["task"], each["round"], each["index"]), []).append(each)
    for (task, number, index), several in grouped.items():
        exchanges = tuple(_read_exchange(each) for each in several)
        yield RecordedCall(task, number, index, several[0]["attempt"], exchanges)


def _read_exchange(record: Mapping[str, Any]) -> Exchange:
    texts = {name: record[name] for name in ("system", "prompt", "answer", "error", "asked_at")}
    return Exchange(**texts, seconds=record["seconds"], usage=Usage(**record["usage"]))
