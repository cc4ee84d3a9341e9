"""Passes of a kernel that take turns on sets of inputs, so that none ever finds its answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from metalbench.kernel.prepare import Bound, Compiled
from metalbench.measure import Mode
from metalbench.measure.cache import Rotation, last_level_cache_bytes, of_two_sets, rotation
from metalbench.result.environment import memory_bytes
from metalbench.task import Task
from metalbench.task.workload import Workload, workload
from metalbench.verify import TIME_LIMIT, Report
from metalbench.verify.examine import Examiner, Yardsticks
from metalbench.verify.repeat import over_others

if TYPE_CHECKING:
    from metalbench._core import Device, Dispatch


@dataclass
class Turns:
    """A bound kernel whose passes never find the answer in their outputs.

    Sets of inputs and of outputs take turns, so that what an output holds before a pass is what
    other inputs gave. `rounds` are lists of passes that write to every set of outputs once: of two
    sets of inputs and one of outputs, or of as many copies of both as are cold. Inputs can be
    exchanged, and nothing else. `doubts` are what is to be said of the times for it.
    """

    device: Device
    rounds: list[list[Bound]]
    yardsticks: Yardsticks = field(default_factory=Yardsticks)
    doubts: tuple[str, ...] = ()
    exchanges: int = 0

    @classmethod
    def of(
        cls, compiled: Compiled, work: Workload, mode: Mode, yardsticks: Yardsticks | None = None
    ) -> Turns:
        """Bind a kernel to a workload and another one, and to copies of them if it is timed cold.

        `yardsticks` are what is known of the reference at that size.
        """
        cold = mode is Mode.COLD
        sizes = _Sizes.of(compiled.device, work)
        turns = sizes.rotation() if cold else Rotation(1, sizes.doubt_of_two_sets())
        known = Yardsticks() if yardsticks is None else yardsticks
        doubts = (turns.doubt,) if turns.doubt is not None else ()
        return cls(compiled.device, _rounds(compiled, work, turns.copies), known, doubts)

    def of_another(self, compiled: Compiled) -> Turns:
        """The passes of another kernel for the same task, in the same inputs and outputs."""
        scratches = {id(each.outputs): compiled.scratches(each.workload) for each in self.rounds[0]}
        rounds = [
            [
                compiled.joined(
                    each.workload, each.inputs, each.outputs, scratches[id(each.outputs)]
                )
                for each in each_round
            ]
            for each_round in self.rounds
        ]
        return replace(self, rounds=rounds)

    @property
    def bound(self) -> Bound:
        """The kernel in its buffers, as the first pass has them."""
        return self.rounds[0][0]

    @property
    def passes(self) -> list[Bound]:
        """What is run over and over: each in the outputs that another one has written to."""
        return [each for each_round in self.rounds for each in each_round]

    @property
    def dispatches(self) -> list[Dispatch]:
        """Those of all passes, in order."""
        return [dispatch for each in self.passes for dispatch in each.dispatches]

    @property
    def works(self) -> list[Workload]:
        """The workloads that take turns, each once."""
        found: dict[int, Workload] = {}
        for each in self.passes:
            found.setdefault(each.workload.seed, each.workload)
        return list(found.values())

    def exchange(self, look: int) -> None:
        """Replace all inputs by further ones of the same distributions, and poison the scratch."""
        before = self.works
        task, size, kind = before[0].task, before[0].size, before[0].dtype.name
        seeds = like_seeds(task, max(each.seed for each in before))
        after = {
            each.seed: workload(task, size, dtype_name=kind, seed=seed)
            for each, seed in zip(before, seeds, strict=False)
        }
        loaded: set[int] = set()

        def exchanged(each: Bound) -> Bound:
            if id(each.inputs) in loaded:  # as the inputs of a pass of another round
                return replace(each, workload=after[each.workload.seed])
            loaded.add(id(each.inputs))
            return each.load(after[each.workload.seed])

        self.rounds = [[exchanged(each) for each in each_round] for each_round in self.rounds]
        self.exchanges = look
        self._poison_scratch()

    def _poison_scratch(self) -> None:
        """Overwrite what earlier passes left in scratch memory."""
        for each in {id(bound.scratches): bound.scratches for bound in self.passes}.values():
            for scratch in each.values():
                scratch.poison(self.exchanges)

    def follow(self, other: Turns) -> None:
        """Take over the inputs that another kernel's turns have put into the shared buffers."""
        self.exchanges = other.exchanges
        self.rounds = [
            [replace(mine, workload=theirs.workload) for mine, theirs in zip(*rounds, strict=True)]
            for rounds in zip(self.rounds, other.rounds, strict=True)
        ]
        self._poison_scratch()

    def run(self) -> None:
        """Make every pass once."""
        self.device.run(self.dispatches, time_limit=TIME_LIMIT)

    def left_behind(self) -> Report:
        """Judge what the last window left in memory, and what a further round leaves behind that.

        Of each set of inputs one output is judged by the oracle, and others by that one; those of
        the further round by what the kernel makes of them in poisoned memory. Of a kernel so slow
        that its inputs were never exchanged, what more passes leave.
        """
        if self.exchanges == 0:
            self.exchange(1)
            self.run()
        report = self._left_by(self.rounds[-1])
        for each in self.rounds[0]:
            if report.passed:
                report += Report(tuple(over_others(self.examiner(each))))
        return report

    def run_on(self, work: Workload) -> Report:
        """Run once more in the same buffers, poisoned, on other inputs, and judge that."""
        return self.examiner(self.bound.load(work)).examine()

    def _left_by(self, each_round: list[Bound]) -> Report:
        report = Report()
        judged: dict[int, Bound] = {}
        for each in each_round:
            first = judged.setdefault(each.workload.seed, each)
            if report.passed and (each is first or not _equal(each, first)):
                report += self.examiner(each).left_behind()
        return report

    def examiner(self, bound: Bound) -> Examiner:
        """Return an examiner of one of the passes."""
        return Examiner(bound, self.device, TIME_LIMIT, self.yardsticks)


def _rounds(compiled: Compiled, work: Workload, copies: int) -> list[list[Bound]]:
    """Passes over two workloads by turns, in one set of outputs or as many as there are copies."""
    others = like_seeds(work.task, work.seed)
    other = workload(work.task, work.size, dtype_name=work.dtype.name, seed=next(others))
    first = [compiled.bind((work, other)[place % 2]) for place in range(copies)]
    if copies == 1:
        (bound,) = first
        inputs = compiled.inputs(other)
        return [first, [compiled.joined(other, inputs, bound.outputs, bound.scratches)]]
    # An even number, so that neighbours have different inputs.
    first += [compiled.bind(other)] if copies % 2 else []
    turned = [*first[1:], first[0]]
    second = [
        compiled.joined(beside.workload, beside.inputs, bound.outputs, bound.scratches)
        for beside, bound in zip(turned, first, strict=True)
    ]
    return [first, second]


def like_seeds(task: Task, seed: int, *, skipped: int = 0) -> Iterator[int]:
    """Further seeds whose inputs are drawn from the same distributions: they cost the same time.

    The first `skipped` seeds after `seed` are left out.
    """
    kinds = [each.variation(seed) for each in task.inputs.values()]
    return (
        other
        for other in count(seed + 1 + skipped)
        if [each.variation(other) for each in task.inputs.values()] == kinds
    )


@dataclass(frozen=True)
class _Sizes:
    """In bytes: what a pass reads and writes, the last-level cache, and the memory."""

    inputs: int
    outputs: int
    cache: int
    memory: int | None

    @classmethod
    def of(cls, device: Device, work: Workload) -> _Sizes:
        task, memory = work.task, device.capabilities.get("memory_bytes")
        inputs, outputs = (
            sum(
                _elements(each.shape_at(work.values)) * each.type_in(work.dtype).nbytes
                for each in arrays.values()
            )
            for arrays in (task.inputs, task.outputs)
        )
        chip = device.chip if device.kind == "metal" else None
        installed = int(memory) if isinstance(memory, int) else memory_bytes()
        told = device.capabilities.get("l2_bytes")
        cache_bytes = int(told) if isinstance(told, int) else last_level_cache_bytes(chip)
        return cls(inputs, outputs, cache_bytes, installed)

    def rotation(self) -> Rotation:
        return rotation(self.inputs + self.outputs, self.cache, self.memory)

    def doubt_of_two_sets(self) -> str | None:
        return of_two_sets(self.inputs, self.outputs, self.cache, self.memory)


def _elements(shape: Sequence[int]) -> int:
    product = 1
    for extent in shape:
        product *= extent
    return product


def _equal(one: Bound, other: Bound) -> bool:
    """Whether two copies hold the same inputs and outputs, with nothing else disturbed."""
    held = {**one.inputs, **one.outputs}
    theirs = {**other.inputs, **other.outputs}
    intact = not any(each.broken_guard() for each in (*held.values(), *one.scratches.values()))
    return intact and all(each.holds(theirs[name].array) for name, each in held.items())
