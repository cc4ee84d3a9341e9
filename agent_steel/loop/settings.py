"""What is to be made faster: one kernel at one size and element type, on one device."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol

from agent_steel.attempt import Attempt
from agent_steel.history import Place
from agent_steel.history.history import PREDICTED
from agent_steel.proposal import Diagnosis
from agent_steel.source import source_key, with_source
from metalbench.kernel.header import Kernel
from metalbench.kernel.library import Entry
from metalbench.measure.analysis import Target
from metalbench.profiling.gpu_chips import GpuChip
from metalbench.store.environment import engine_on
from metalbench.store.result import DeviceFacts
from metalbench.task import Task
from metalbench.task.declaration import is_spelled

MEASURED = "measured"


def name_objective(chip: GpuChip) -> str:
    """Return the name of the objective of predicted times on a chip."""
    return f"{PREDICTED}:{chip.key}"


@dataclass(frozen=True)
class SearchSubject:
    """A kernel of the library as its file is, and where it is to be made faster.

    With a `chip` its times are predicted for that Apple GPU, and `device` only verifies it.
    `others` are the chips of further objectives, on which it must not be predicted slower.
    """

    entry: Entry
    kernel: Kernel
    dtype: str
    size: str
    device: DeviceFacts
    chip: GpuChip | None = None
    others: tuple[GpuChip, ...] = ()

    @property
    def objectives(self) -> tuple[str, ...]:
        """The names of the objectives, such as `measured` or `predicted:m4`; the first leads."""
        first = MEASURED if self.chip is None else name_objective(self.chip)
        return (first, *map(name_objective, self.others))

    @property
    def label(self) -> str:
        """The name of the task in messages; with the size if that is spelled out."""
        size = f" ({self.size})" if is_spelled(self.size) else ""
        return f"{self.entry.name}{size}"

    @property
    def task(self) -> Task:
        """The task that the kernel solves."""
        return self.entry.task

    @cached_property
    def place(self) -> Place:
        """Which history its attempts are of. Predictions and measurements have different ones."""
        if self.chip is not None:
            chip = self.chip
            names = ", ".join(each.name for each in (chip, *self.others))
            where = (PREDICTED, names, chip.cores, "")
            return Place(*where, self.entry.name, self.dtype, self.size)
        device = self.device
        predicted = "".join(f", predicted {each.name}" for each in self.others)
        return Place(
            device.kind,
            f"{device.name}{predicted}",
            device.cores,
            engine_on(device.kind),
            self.entry.name,
            self.dtype,
            self.size,
        )

    @property
    def target_device(self) -> DeviceFacts:
        """The device that the kernel is made faster for: the chip if times are predicted."""
        chip = self.chip
        if chip is None:
            return self.device
        return DeviceFacts(chip.target.kind, chip.name, chip.key, chip.cores)

    @property
    def variant_device(self) -> DeviceFacts:
        """The device whose variant a winner is; with several objectives no chip's."""
        device = self.target_device
        return replace(device, chip=None) if self.others else device

    @cached_property
    def extents(self) -> Mapping[str, int]:
        """The names of the size."""
        return self.task.extents(self.size)

    @cached_property
    def key(self) -> str:
        """The key of the kernel as its file is."""
        return source_key(self.kernel, {}, dtype=self.dtype)

    @cached_property
    def reference(self) -> str:
        """The text of the MLX reference."""
        try:
            return inspect.getsource(self.task.reference)
        except (OSError, TypeError):
            return self.task.baseline

    def kernel_of(self, attempt: Attempt) -> Kernel:
        """Return the kernel that an attempt is; raises DeclarationError if its header is wrong."""
        return with_source(self.kernel, attempt.source)


# The limits of a loop.

Strategy = Literal["greedy", "beam", "population"]
MOST_IDLE_ROUNDS = 2
BEAM = 3
ISLANDS = 3
# Of a population, whose stagnating islands begin anew.
MOST_IDLE_ROUNDS_OF_POPULATION = 8


@dataclass(frozen=True)
class Settings:
    """Limits of a loop.

    A round asks for `candidates` versions of every lineage. `greedy` has one lineage, the best so
    far; `beam` keeps `lineages` of them. `population` has `islands` of up to `members` versions,
    and a round asks for `candidates` versions of each island. After each `migration_rounds` the
    best versions move on to the next island. An island that kept nothing for `stagnation_rounds`
    begins anew. Parents are drawn at random by `seed`. A kernel is done after `max_rounds`, or
    after `max_idle_rounds` that kept nothing; the loop is after `budget_s` seconds, None being no
    limit.
    """

    max_rounds: int = 1
    max_idle_rounds: int = MOST_IDLE_ROUNDS
    candidates: int = 1
    strategy: Strategy = "greedy"
    lineages: int = BEAM
    islands: int = ISLANDS
    members: int = 6
    migration_rounds: int = 3
    stagnation_rounds: int = 4
    seed: int = 0
    parallel: int = 1
    budget_s: float | None = None
    target: Target = Target.SPEED

    @property
    def width(self) -> int:
        """How many lineages or islands there may be."""
        return {"beam": self.lineages, "population": self.islands}.get(self.strategy, 1)

    @property
    def has_islands(self) -> bool:
        """Whether the search keeps a population."""
        return self.strategy == "population"


class Listener(Protocol):
    """Hears how a loop goes on."""

    def on_start(self, subject: SearchSubject, best: Attempt, diagnosis: Diagnosis) -> None:
        """Report that a kernel was measured, and what bounds it."""

    def on_round_start(self, subject: SearchSubject, number: int, most: int) -> None:
        """Proposals of a round are asked for."""

    def on_message(self, subject: SearchSubject, text: str) -> None:
        """Report the progress of a proposer or of the verifier."""

    def on_judging(self, subject: SearchSubject, attempt: Attempt) -> None:
        """Report that an attempt is verified and measured from now on."""

    def on_judgement(self, subject: SearchSubject, attempt: Attempt) -> None:
        """Report that the status of an attempt is known and stored."""

    def on_end(self, subject: SearchSubject, reason: str) -> None:
        """No more is tried with a kernel."""


class Unheard:
    """A listener that ignores all events."""

    def on_start(self, subject: SearchSubject, best: Attempt, diagnosis: Diagnosis) -> None:
        """Ignore the event."""

    def on_round_start(self, subject: SearchSubject, number: int, most: int) -> None:
        """Ignore the event."""

    def on_message(self, subject: SearchSubject, text: str) -> None:
        """Ignore the event."""

    def on_judging(self, subject: SearchSubject, attempt: Attempt) -> None:
        """Ignore the event."""

    def on_judgement(self, subject: SearchSubject, attempt: Attempt) -> None:
        """Ignore the event."""

    def on_end(self, subject: SearchSubject, reason: str) -> None:
        """Ignore the event."""


Clock = Callable[[], float]
