"""What is timed: a kernel in its buffers, and its reference on the same inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from metalbench.kernel.prepare import Bound, Compiled
from metalbench.measure import FormTime, Measurement, Mode, Plan, Sides, measure
from metalbench.measure.cache import Rotation, last_level_cache_bytes, rotation
from metalbench.measure.probe import probe_of
from metalbench.measure.series import Progress
from metalbench.result.environment import environment
from metalbench.task import Task
from metalbench.task.workload import Workload, workload
from metalbench.verify import TIME_LIMIT, Report
from metalbench.verify.examine import Examiner, Yardsticks
from metalbench.verify.repeat import over_others

if TYPE_CHECKING:
    from metalbench._core import Device, Dispatch
    from metalbench.reference import Reference
    from metalbench.run.contest import Settled

# Most time for finding the form of the reference that is the one to beat: a part of the
# measurement's, but no fewer seconds than it takes to tell 2 % at a noise of 10 %.
FORMS_SHARE = 0.25
FORMS_LEAST_S = 1.5


@dataclass
class Timed:
    """A bound kernel beside its reference, whose passes never find the answer in their outputs.

    Sets of inputs and of outputs take turns, so that what an output holds before a pass is what
    other inputs gave. `rounds` are lists of passes that write to every set of outputs once: of two
    sets of inputs and one of outputs, or of as many copies of both as are cold. Between looks all
    inputs are exchanged, and nothing else.
    """

    device: Device
    rounds: list[list[Bound]]
    reference: Reference | None
    remarks: tuple[str, ...] = ()
    yardsticks: Yardsticks = field(default_factory=Yardsticks)
    _exchanges: int = 0

    @classmethod
    def prepare(
        cls, compiled: Compiled, work: Workload, mode: Mode, yardsticks: Yardsticks | None = None
    ) -> Timed:
        """Bind a kernel to a workload and another one, and to copies of them if it is timed cold.

        `yardsticks` are what is known of the reference at that size.
        """
        from metalbench.reference import reference_beside  # and with it MLX

        device = compiled.device
        cold = mode is Mode.COLD
        turns = _rotation(device, work) if cold else Rotation(1)
        rounds = _rounds(compiled, work, turns.copies)
        sets = len(rounds[0]) if cold else len(rounds)
        keeps = turns.copies if cold else 0
        reference, missing = reference_beside(device.kind, work, copies=sets, keeps=keeps)
        if reference is not None:
            reference.load(*_works(rounds))
        doubts = (turns.doubt,) if turns.doubt is not None else ()
        known = Yardsticks() if yardsticks is None else yardsticks
        return cls(device, rounds, reference, (*missing, *doubts), known)

    @property
    def bound(self) -> Bound:
        """The kernel in its buffers, as the first pass has them."""
        return self.rounds[0][0]

    @property
    def passes(self) -> list[Bound]:
        """What is run over and over: each in the outputs that another one has written to."""
        return [each for each_round in self.rounds for each in each_round]

    def measure(self, plan: Plan, progress: Progress | None) -> Measurement:
        """Time the kernel against the fastest form of its reference."""
        forms: tuple[FormTime, ...] = ()
        remarks = self.remarks
        if self.reference is not None:
            settled = self._settle(self.reference, plan)
            forms = settled.forms
            remarks = (*remarks, *settled.doubts)
        sides = Sides(
            self._dispatches,
            self.reference,
            repeats=len(self.passes),
            probe=probe_of(self.device),
            refresh=self._exchange,
        )
        measured = measure(self.device, sides, plan, progress=progress)
        return replace(measured, forms=forms, remarks=(*remarks, *measured.remarks))

    def _settle(self, reference: Reference, plan: Plan) -> Settled:
        """Find the form to beat, or know it from an earlier run."""
        from metalbench.run import known_form
        from metalbench.run.contest import settle

        where = self.device.name, plan.mode.value
        settled = known_form.known(reference, *where)
        if settled is None:
            settled = settle(
                reference,
                seconds=max(FORMS_LEAST_S, FORMS_SHARE * plan.seconds),
                seed=plan.seed,
                window_s=plan.window_ns_on(own_clock=self.device.own_clock) / 1e9,
                pass_s=self._pass_s,
            )
            known_form.keep(settled, reference, *where)
        return settled

    @property
    def _pass_s(self) -> float:
        """What a pass of the reference took when it was verified; 0 where that says little."""
        # Verified is in float32, whatever is timed.
        known = self.bound.workload.dtype.name == "float32" and self.yardsticks.errors
        return self.yardsticks.pass_s if known else 0.0

    def left_behind(self) -> Report:
        """Judge what the last window left in memory, and what a further round leaves behind that.

        Of each set of inputs one output is judged by the oracle, and others by that one; those of
        the further round by what the kernel makes of them in poisoned memory. Of a kernel so slow
        that its inputs were never exchanged, what more passes leave.
        """
        if self._exchanges == 0:
            self._exchange(1)
            self.device.run(self._dispatches, time_limit=TIME_LIMIT)
        report = self._left_by(self.rounds[-1])
        for each in self.rounds[0]:
            if report.passed:
                report += Report(tuple(over_others(self._examiner(each))))
        return report

    def _left_by(self, each_round: list[Bound]) -> Report:
        report = Report()
        judged: dict[int, Bound] = {}
        for each in each_round:
            first = judged.setdefault(each.workload.seed, each)
            if report.passed and (each is first or not _equal(each, first)):
                report += self._examiner(each).left_behind()
        return report

    def run_on(self, work: Workload) -> Report:
        """Run once more in the same buffers, poisoned, on other inputs, and judge that."""
        return self._examiner(self.bound.load(work)).examine()

    def _examiner(self, bound: Bound) -> Examiner:
        return Examiner(bound, self.device, TIME_LIMIT, self.yardsticks)

    @property
    def _dispatches(self) -> list[Dispatch]:
        return [dispatch for each in self.passes for dispatch in each.dispatches]

    def _exchange(self, look: int) -> None:
        """Put further inputs of the same distributions in place of all that are there."""
        before = _works(self.rounds)
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
        if self.reference is not None:
            self.reference.load(*after.values())
        self._exchanges = look


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


def _works(rounds: list[list[Bound]]) -> list[Workload]:
    """The workloads that take turns, each once."""
    found: dict[int, Workload] = {}
    for each_round in rounds:
        for each in each_round:
            found.setdefault(each.workload.seed, each.workload)
    return list(found.values())


def like_seeds(task: Task, seed: int) -> Iterator[int]:
    """Further seeds whose inputs are drawn from the same distributions: they cost the same time."""
    kinds = [each.variation(seed) for each in task.inputs.values()]
    return (
        other
        for other in count(seed + 1)
        if [each.variation(other) for each in task.inputs.values()] == kinds
    )


def _rotation(device: Device, work: Workload) -> Rotation:
    task, memory = work.task, device.capabilities.get("memory_bytes")
    arrays = {**task.inputs, **task.outputs}
    pass_bytes = sum(
        _elements(each.shape_at(work.values)) * each.type_in(work.dtype).nbytes
        for each in arrays.values()
    )
    chip = device.chip if device.kind == "metal" else None
    installed = int(memory) if isinstance(memory, int) else environment().memory_bytes
    told = device.capabilities.get("l2_bytes")
    cache_bytes = int(told) if isinstance(told, int) else last_level_cache_bytes(chip)
    return rotation(pass_bytes, cache_bytes, installed)


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
