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

if TYPE_CHECKING:
    from metalbench._core import Device, Dispatch
    from metalbench.reference import Reference

# Most time for finding the form of the reference that is the one to beat: a part of the
# measurement's, but no fewer seconds than it takes to tell 2 % at a noise of 10 %.
FORMS_SHARE = 0.25
FORMS_LEAST_S = 1.5


@dataclass
class Timed:
    """A bound kernel, or as many copies of it as are cold, beside its reference.

    Between looks the inputs of both are exchanged, and nothing else: outputs and scratch keep what
    they hold, so that a kernel that has stopped working leaves results of other inputs behind.
    """

    device: Device
    copies: list[Bound]
    reference: Reference | None
    remarks: tuple[str, ...] = ()
    yardsticks: Yardsticks = field(default_factory=Yardsticks)
    _exchanges: int = 0

    @classmethod
    def prepare(
        cls, compiled: Compiled, work: Workload, mode: Mode, yardsticks: Yardsticks | None = None
    ) -> Timed:
        """Bind a kernel to a workload, and to copies of it if it is to be timed cold.

        `yardsticks` are what is known of the reference at that size.
        """
        from metalbench.reference import reference_beside  # and with it MLX

        device = compiled.device
        turns = _rotation(device, work) if mode is Mode.COLD else Rotation(1)
        copies = [compiled.bind(work) for _ in range(turns.copies)]
        reference, missing = reference_beside(device.kind, work, copies=turns.copies)
        doubts = (turns.doubt,) if turns.doubt is not None else ()
        known = Yardsticks() if yardsticks is None else yardsticks
        return cls(device, copies, reference, (*missing, *doubts), known)

    @property
    def bound(self) -> Bound:
        """The kernel in its buffers; the first copy of several."""
        return self.copies[0]

    def measure(self, plan: Plan, progress: Progress | None) -> Measurement:
        """Time the kernel against the fastest form of its reference."""
        from metalbench.run.contest import settle

        forms: tuple[FormTime, ...] = ()
        remarks = self.remarks
        if self.reference is not None:
            seconds = max(FORMS_LEAST_S, FORMS_SHARE * plan.seconds)
            window_s = plan.window_ns_on(own_clock=self.device.own_clock) / 1e9
            settled = settle(
                self.reference,
                seconds=seconds,
                seed=plan.seed,
                window_s=window_s,
                pass_s=self._pass_s,
            )
            forms = settled.forms
            remarks = (*remarks, *settled.doubts)
        sides = Sides(
            self._dispatches,
            self.reference,
            repeats=len(self.copies),
            probe=probe_of(self.device),
            refresh=self._exchange,
        )
        measured = measure(self.device, sides, plan, progress=progress)
        return replace(measured, forms=forms, remarks=(*remarks, *measured.remarks))

    @property
    def _pass_s(self) -> float:
        """What a pass of the reference took when it was verified; 0 where that says little."""
        # Verified is in float32, whatever is timed.
        known = self.bound.workload.dtype.name == "float32" and self.yardsticks.errors
        return self.yardsticks.pass_s if known else 0.0

    def left_behind(self) -> Report:
        """Judge what the last window left in memory: of one copy by the oracle, of others by it.

        Of a kernel so slow that its inputs were never exchanged, what one more pass leaves.
        """
        if self._exchanges == 0:
            self._exchange(1)
            self.device.run(self._dispatches, time_limit=TIME_LIMIT)
        report = self._examiner(self.bound).left_behind()
        for copy in self.copies[1:]:
            if report.passed and not _equal(copy, self.bound):
                report += self._examiner(copy).left_behind()
        return report

    def run_on(self, work: Workload) -> Report:
        """Run once more in the same buffers, poisoned, on other inputs, and judge that."""
        return self._examiner(self.bound.load(work)).examine()

    def _examiner(self, bound: Bound) -> Examiner:
        return Examiner(bound, self.device, TIME_LIMIT, self.yardsticks)

    @property
    def _dispatches(self) -> list[Dispatch]:
        return [dispatch for copy in self.copies for dispatch in copy.dispatches]

    def _exchange(self, look: int) -> None:
        now = self.bound.workload
        work = workload(
            now.task,
            now.size,
            dtype_name=now.dtype.name,
            seed=next(like_seeds(now.task, now.seed)),
        )
        self.copies = [copy.load(work) for copy in self.copies]
        if self.reference is not None:
            self.reference.load(work)
        self._exchanges = look


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
    return rotation(pass_bytes, last_level_cache_bytes(chip), installed)


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
