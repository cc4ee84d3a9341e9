"""Rotate buffers between the passes of a kernel, so that no pass finds its result in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from metalbench.kernel.prepare import Bound, Compiled
from metalbench.measure import Mode
from metalbench.measure.cache import (
    RotationPlan,
    last_level_cache_bytes,
    plan_rotation,
    warn_of_two_sets,
)
from metalbench.result.environment import memory_bytes
from metalbench.task import Task
from metalbench.task.workload import Workload, workload
from metalbench.verify import TIME_LIMIT, Report
from metalbench.verify.examine import Examiner, ReferenceErrors
from metalbench.verify.repeat import compare_with_fresh_memory

if TYPE_CHECKING:
    from metalbench._core import Device, Dispatch


@dataclass
class BufferRotation:
    """The passes of a kernel over several sets of inputs and outputs.

    Before a pass, its outputs hold the results of other inputs. Each of `rounds` is a list of
    passes that writes every set of outputs once. WARM mode has two sets of inputs and one of
    outputs. COLD mode has as many copies of both as exceed the last-level cache. `doubts` are
    warnings about the times. `exchanges` is the number of the last batch whose inputs were
    exchanged.
    """

    device: Device
    rounds: list[list[Bound]]
    reference_errors: ReferenceErrors = field(default_factory=ReferenceErrors)
    doubts: tuple[str, ...] = ()
    exchanges: int = 0

    @classmethod
    def of(
        cls,
        compiled: Compiled,
        work: Workload,
        mode: Mode,
        reference_errors: ReferenceErrors | None = None,
    ) -> BufferRotation:
        """Bind a kernel to `work` and to a workload of another seed; in COLD mode to copies.

        `reference_errors` are the known errors of the reference at that size.
        """
        sizes = _Sizes.of(compiled.device, work)
        if mode is Mode.COLD:
            plan = plan_rotation(sizes.inputs + sizes.outputs, sizes.cache, sizes.memory)
        else:
            doubt = warn_of_two_sets(sizes.inputs, sizes.outputs, sizes.cache, sizes.memory)
            plan = RotationPlan(1, doubt)
        known = ReferenceErrors() if reference_errors is None else reference_errors
        doubts = (plan.doubt,) if plan.doubt is not None else ()
        return cls(compiled.device, _bind_rounds(compiled, work, plan.copies), known, doubts)

    def bind_another(self, compiled: Compiled) -> BufferRotation:
        """Return the passes of another kernel for the same task, in the same inputs and outputs."""
        scratches = {id(each.outputs): compiled.scratches(each.workload) for each in self.rounds[0]}
        rounds = [
            [
                compiled.bind_buffers(
                    each.workload, each.inputs, each.outputs, scratches[id(each.outputs)]
                )
                for each in each_round
            ]
            for each_round in self.rounds
        ]
        return replace(self, rounds=rounds)

    @property
    def bound(self) -> Bound:
        """The first pass: the kernel in its buffers."""
        return self.rounds[0][0]

    @property
    def passes(self) -> list[Bound]:
        """The passes of a timing window, in order."""
        return [each for each_round in self.rounds for each in each_round]

    @property
    def dispatches(self) -> list[Dispatch]:
        """The dispatches of all passes, in order."""
        return [dispatch for each in self.passes for dispatch in each.dispatches]

    @property
    def workloads(self) -> list[Workload]:
        """The workloads of the passes, each once."""
        found: dict[int, Workload] = {}
        for each in self.passes:
            found.setdefault(each.workload.seed, each.workload)
        return list(found.values())

    def exchange_inputs(self, batch: int) -> None:
        """Replace all inputs by new ones of the same distributions, and poison the scratch."""
        before = self.workloads
        task, size, kind = before[0].task, before[0].size, before[0].dtype.name
        seeds = like_seeds(task, max(each.seed for each in before))
        after = {
            each.seed: workload(task, size, dtype_name=kind, seed=seed)
            for each, seed in zip(before, seeds, strict=False)
        }
        loaded: set[int] = set()

        def load(each: Bound) -> Bound:
            if id(each.inputs) in loaded:  # a pass of another round has the same inputs
                return replace(each, workload=after[each.workload.seed])
            loaded.add(id(each.inputs))
            return each.load(after[each.workload.seed])

        self.rounds = [[load(each) for each in each_round] for each_round in self.rounds]
        self.exchanges = batch
        self._poison_scratch()

    def adopt_inputs(self, other: BufferRotation) -> None:
        """Adopt the inputs that another kernel's rotation has written to the shared buffers."""
        self.exchanges = other.exchanges
        self.rounds = [
            [replace(mine, workload=theirs.workload) for mine, theirs in zip(*rounds, strict=True)]
            for rounds in zip(self.rounds, other.rounds, strict=True)
        ]
        self._poison_scratch()

    def _poison_scratch(self) -> None:
        """Overwrite the contents that earlier passes left in scratch memory."""
        for each in {id(bound.scratches): bound.scratches for bound in self.passes}.values():
            for scratch in each.values():
                scratch.poison(self.exchanges)

    def run(self) -> None:
        """Run every pass once."""
        self.device.run(self.dispatches, time_limit=TIME_LIMIT)

    def judge_last_window(self) -> Report:
        """Judge the outputs of the last window, and those of a further round after it.

        The oracle judges one output of each set of inputs; the others must equal it. Outputs of the
        further round must equal those of runs in poisoned memory. A kernel so slow that its inputs
        were never exchanged runs once more, on new inputs.
        """
        if self.exchanges == 0:
            self.exchange_inputs(1)
            self.run()
        report = self._judge_round(self.rounds[-1])
        for each in self.rounds[0]:
            if report.passed:
                report += Report(tuple(compare_with_fresh_memory(self.examiner(each))))
        return report

    def judge_new_inputs(self, work: Workload) -> Report:
        """Run once more in the same buffers, poisoned, on the inputs of `work`; judge that."""
        return self.examiner(self.bound.load(work)).examine()

    def _judge_round(self, each_round: list[Bound]) -> Report:
        report = Report()
        judged: dict[int, Bound] = {}
        for each in each_round:
            first = judged.setdefault(each.workload.seed, each)
            if report.passed and (each is first or not _hold_same_values(each, first)):
                report += self.examiner(each).judge_last_run()
        return report

    def examiner(self, bound: Bound) -> Examiner:
        """Return an examiner of one of the passes."""
        return Examiner(bound, self.device, TIME_LIMIT, self.reference_errors)


def _bind_rounds(compiled: Compiled, work: Workload, copies: int) -> list[list[Bound]]:
    """Bind two rounds whose passes alternate between two workloads, in `copies` sets of outputs."""
    others = like_seeds(work.task, work.seed)
    other = workload(work.task, work.size, dtype_name=work.dtype.name, seed=next(others))
    first = [compiled.bind((work, other)[place % 2]) for place in range(copies)]
    if copies == 1:
        (bound,) = first
        inputs = compiled.inputs(other)
        return [first, [compiled.bind_buffers(other, inputs, bound.outputs, bound.scratches)]]
    # An even number, so that neighbours have different inputs.
    first += [compiled.bind(other)] if copies % 2 else []
    shifted = [*first[1:], first[0]]
    second = [
        compiled.bind_buffers(neighbour.workload, neighbour.inputs, bound.outputs, bound.scratches)
        for neighbour, bound in zip(shifted, first, strict=True)
    ]
    return [first, second]


def like_seeds(task: Task, seed: int, *, skipped: int = 0) -> Iterator[int]:
    """Yield seeds after `seed` whose inputs have the same distributions, and so the same cost.

    The first `skipped` integers after `seed` are left out.
    """
    kinds = [each.variation(seed) for each in task.inputs.values()]
    return (
        other
        for other in count(seed + 1 + skipped)
        if [each.variation(other) for each in task.inputs.values()] == kinds
    )


@dataclass(frozen=True)
class _Sizes:
    """Sizes in bytes: inputs and outputs of a pass, last-level cache, and memory."""

    inputs: int
    outputs: int
    cache: int
    memory: int | None

    @classmethod
    def of(cls, device: Device, work: Workload) -> _Sizes:
        task, memory = work.task, device.capabilities.get("memory_bytes")
        inputs, outputs = (
            sum(
                math.prod(each.shape_at(work.values)) * each.type_in(work.dtype).nbytes
                for each in arrays.values()
            )
            for arrays in (task.inputs, task.outputs)
        )
        chip = device.chip if device.kind == "metal" else None
        installed = int(memory) if isinstance(memory, int) else memory_bytes()
        l2_bytes = device.capabilities.get("l2_bytes")
        cache = int(l2_bytes) if isinstance(l2_bytes, int) else last_level_cache_bytes(chip)
        return cls(inputs, outputs, cache, installed)


def _hold_same_values(one: Bound, other: Bound) -> bool:
    """Return whether two copies hold the same inputs and outputs, with all guard zones intact."""
    held = {**one.inputs, **one.outputs}
    theirs = {**other.inputs, **other.outputs}
    intact = not any(each.broken_guard() for each in (*held.values(), *one.scratches.values()))
    return intact and all(each.holds(theirs[name].array) for name, each in held.items())
