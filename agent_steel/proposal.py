"""What proposers are told and what they answer: the one interface between loop and proposers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from agent_steel.usage import Usage
from metalbench.errors import MetalBenchError

__all__ = [
    "Brief",
    "Diagnosis",
    "Fact",
    "Progress",
    "Proposal",
    "Proposer",
    "ProposerError",
    "SpentError",
    "Usage",
]

if TYPE_CHECKING:
    from agent_steel.attempt import Attempt
    from metalbench.analysis.targets import Target
    from metalbench.kernel import Kernel
    from metalbench.result import DeviceFacts
    from metalbench.task import Task


class ProposerError(MetalBenchError):
    """A proposer could not be asked, or has given no answer that can be read.

    The message says what to do next: which key to set, which extra to install, which limit to
    raise. It never holds a key. `usage` is what the question had cost until then, where the
    proposer tells it.
    """

    usage: Usage | None = None


class SpentError(ProposerError):
    """What may be spent on a proposer is spent; the loop ends by its cost."""


@dataclass(frozen=True)
class Fact:
    """One thing that the profiler has found, in plain words and as a number.

    `name` is a term of the field such as 'bytes moved'; `value` is told as it stands.
    """

    name: str
    value: str


@dataclass(frozen=True)
class Diagnosis:
    """What bounds the best kernel so far, from measurements alone: no model has a say in it.

    `bound` is 'memory', 'compute', 'launch' or 'unknown'; `text` says it in a sentence or two.
    """

    bound: str
    text: str
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Brief:
    """All that a proposer is told: what is to be solved, the best so far, and what was tried.

    `parent` is the attempt whose source is to be improved and `kernel` that source with its header
    read; `others` are attempts of other lineages whose ideas may be crossed with it. `attempts` is
    the whole history of the task, oldest first, from this session and from those before. `dtype`
    and `size` are what is measured, `extents` that size's names, and `reference` the text of the
    MLX reference.
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


@dataclass(frozen=True)
class Proposal:
    """The next version of a kernel: a full `.metal` text, or other values of its tunables.

    `summary` says in two sentences what is different and why that should be faster, `technique`
    names it in a few words. `tunables` are values that differ from the source's defaults.
    `wording` is the diagnosis in the proposer's own words, if it has any.
    """

    source: str
    summary: str
    technique: str
    tunables: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    wording: str = ""


class Proposer(Protocol):
    """Thinks of the next version of a kernel. Several may be asked at the same time."""

    @property
    def name(self) -> str:
        """What it is called in the history, such as 'tuner' or 'openai'."""

    @property
    def model(self) -> str:
        """The model behind it; '' where there is none."""

    @property
    def usage(self) -> Usage:
        """All that it has cost so far, answers that could not be read included."""

    def propose(self, brief: Brief, say: Progress) -> Proposal | None:
        """Return the next version; None if nothing is left to try.

        Raises
        ------
        SpentError
            Before a request that would cost more than what is allowed.
        ProposerError
            If no answer that can be read was given, after retries.
        """


class Progress(Protocol):
    """Hears of what a proposer does while it goes on."""

    def __call__(self, text: str) -> None:
        """Hear one line of it, such as 'asked MODEL, 1.2 k tokens so far'."""
