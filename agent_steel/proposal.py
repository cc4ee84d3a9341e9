"""The interface between loop and proposers: briefs and proposals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from agent_steel.attempt import Usage
from metalbench.errors import MetalBenchError

if TYPE_CHECKING:
    from agent_steel.attempt import Attempt
    from metalbench.kernel.header import Kernel
    from metalbench.measure.analysis import Target
    from metalbench.profiling import Profile
    from metalbench.store.result import DeviceFacts
    from metalbench.task import Task

__all__ = [
    "Brief",
    "Diagnosis",
    "Exchange",
    "Fact",
    "KnownVersion",
    "NothingLeft",
    "Progress",
    "Proposal",
    "Proposer",
    "ProposerError",
    "RefusedError",
    "SpentError",
    "Usage",
]


@dataclass(frozen=True)
class Exchange:
    """One request to a model and its answer, without keys.

    `prompt` is the new turn of the conversation. `error` says why there is no answer, or why it
    cannot be used; it is empty for a good answer. `asked_at` is ISO 8601 in UTC.
    """

    system: str
    prompt: str
    answer: str
    error: str
    asked_at: str
    seconds: float
    usage: Usage


class ProposerError(MetalBenchError):
    """A request to a proposer failed, or its answer could not be read.

    The message says what to do next: which key to set, which extra to install, which limit to
    raise. It never holds a key. `usage` is the cost of the request so far, if it is known, and
    `exchanges` are its requests to a model.
    """

    usage: Usage | None = None
    exchanges: tuple[Exchange, ...] = ()


class SpentError(ProposerError):
    """The cost limit of a proposer is reached; the loop ends."""


class RefusedError(ProposerError):
    """The provider refuses every request, as with a wrong key; the loop ends."""


@dataclass(frozen=True)
class Fact:
    """One result of the profiler.

    `name` is a technical term such as 'bytes moved'. `value` goes into prompts verbatim.
    """

    name: str
    value: str


@dataclass(frozen=True)
class Diagnosis:
    """The bottleneck of the best kernel so far, from measurements only.

    `bound` is 'memory', 'compute', 'launch' or 'unknown'; `text` explains it in one or two
    sentences.
    """

    bound: str
    text: str
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class KnownVersion:
    """The best version of a task that the store has of another place.

    `about` says where it is the best, and by how much. `source` is '' if only that is known.
    """

    about: str
    source: str


@dataclass(frozen=True)
class Brief:
    """The input of a proposer: the task, the best version so far, and the history.

    `parent` is the attempt to improve, `kernel` its parsed source. `others` are attempts of other
    lineages, to combine their ideas with it. `attempts` is the whole history of the task, oldest
    first, including earlier sessions. `dtype` and `size` are measured, `extents` are the extents of
    `size` by name. `reference` is the text of the MLX reference. With `is_predicted` a model
    predicts the times on `device`. `island` is that of a population. With `is_crossover` the
    version asked for combines `parent` with the first of `others`. `known` are the best versions of
    the task on other devices, at other sizes and of other types.
    """

    task: Task
    kernel: Kernel
    parent: Attempt
    diagnosis: Diagnosis
    device: DeviceFacts
    dtype: str
    size: str
    extents: Mapping[str, int]
    reference: str
    target: Target
    round: int
    attempts: Sequence[Attempt] = ()
    others: Sequence[Attempt] = ()
    is_predicted: bool = False
    island: int | None = None
    is_crossover: bool = False
    known: Sequence[KnownVersion] = ()


@dataclass(frozen=True)
class Proposal:
    """The next version of a kernel: a full `.metal` text, or other values of its tunables.

    `summary` describes the change and its expected benefit in two sentences. `technique` is a short
    name for it. `tunables` are values that differ from the defaults. `wording` is the diagnosis as
    the proposer phrased it, or empty. `others` are further versions of the same answer, which cost
    nothing more. `exchanges` are the requests to a model that led to it.
    """

    source: str
    summary: str
    technique: str
    tunables: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    wording: str = ""
    others: tuple[Proposal, ...] = ()
    exchanges: tuple[Exchange, ...] = ()


@dataclass(frozen=True)
class NothingLeft:
    """The answer of a proposer that has nothing left to try, with its requests to a model."""

    exchanges: tuple[Exchange, ...] = ()


class Proposer(Protocol):
    """A source of proposals. `propose` may be called by several threads at a time."""

    @property
    def name(self) -> str:
        """The name in the history, such as 'tuner' or 'openai'."""

    @property
    def model(self) -> str:
        """The language model; empty for a proposer without one."""

    @property
    def usage(self) -> Usage:
        """All that it has cost so far, answers that could not be read included."""

    def propose(self, brief: Brief, say: Progress) -> Proposal | NothingLeft | None:
        """Return the next version; NothingLeft or None if nothing is left to try.

        Raises
        ------
        SpentError
            Before a request that would cost more than what is allowed.
        RefusedError
            If no later request can succeed either.
        ProposerError
            If no answer that can be read was given, after retries.
        """


class Progress(Protocol):
    """A callback for progress messages of a proposer."""

    def __call__(self, text: str) -> None:
        """Receive one line, such as 'asked MODEL, 1.2 k tokens so far'."""


# The counts of a version of a kernel.


def count_facts(profile: Profile) -> Iterator[Fact]:
    """Facts of every dispatch: what its source does, whatever the optimiser makes of it."""
    for each in profile.dispatches:
        total, where = each.total, f"{each.function}, counted at size {profile.size}"
        moved = (
            f"{total.device_bytes_read:,} B read ({each.unique_bytes_read:,} of them different), "
            f"{total.device_bytes_written:,} B written"
        )
        yield Fact(f"{where}: device memory", moved)
        if not math.isnan(total.coalescing):
            lines = f"{total.device_transactions:,}, {100 * total.coalescing:.0f} % coalesced"
            yield Fact(f"{where}: transactions of 128 B", lines)
        if total.bank_turns:
            conflicts = f"{total.bank_conflicts:,} of {total.bank_turns:,} turns"
            yield Fact(f"{where}: bank conflicts", conflicts)
        if not math.isnan(each.active_lanes):
            yield Fact(f"{where}: active lanes", f"{100 * each.active_lanes:.0f} %")
        if total.barriers:
            yield Fact(f"{where}: barriers of SIMD-groups", f"{total.barriers:,}")
        if total.atomics:
            waits = f"{total.atomics:,}, {total.contended:,} wait for another lane"
            yield Fact(f"{where}: atomics", waits)
