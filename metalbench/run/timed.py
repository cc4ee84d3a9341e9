"""What is timed: a kernel in its buffers, and its reference on the same inputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from metalbench.kernel.prepare import Bound, Compiled
from metalbench.measure import FormTime, Measurement, Mode, Plan, Sides, measure
from metalbench.measure.probe import probe_of
from metalbench.measure.series import Progress
from metalbench.run.reuse_audit import ReuseAudit
from metalbench.run.turns import Turns
from metalbench.task.workload import Workload
from metalbench.verify.examine import Yardsticks

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.reference import Reference
    from metalbench.run.contest import Settled

# Most time for finding the form of the reference that is the one to beat: a part of the
# measurement's, but no fewer seconds than it takes to tell 2 % at a noise of 10 %.
FORMS_SHARE = 0.25
FORMS_LEAST_S = 1.5


@dataclass
class Timed:
    """The turns of a kernel beside its reference, which takes as many.

    Between looks all inputs of both are exchanged, and nothing else.
    """

    device: Device
    turns: Turns
    reference: Reference | None
    remarks: tuple[str, ...] = ()
    audit: ReuseAudit = field(init=False)

    def __post_init__(self) -> None:
        """Audit the passes that are timed."""
        self.audit = ReuseAudit(self.turns)

    @classmethod
    def prepare(
        cls, compiled: Compiled, work: Workload, mode: Mode, yardsticks: Yardsticks | None = None
    ) -> Timed:
        """Bind a kernel to a workload and another one, and to copies of them if it is timed cold.

        `yardsticks` are what is known of the reference at that size.
        """
        from metalbench.reference import reference_beside  # and with it MLX

        device = compiled.device
        turns = Turns.of(compiled, work, mode, yardsticks)
        cold = mode is Mode.COLD
        sets = len(turns.rounds[0]) if cold else len(turns.rounds)
        keeps = sets if cold else 0
        reference, missing = reference_beside(device.kind, work, copies=sets, keeps=keeps)
        if reference is not None:
            reference.load(*turns.works)
        return cls(device, turns, reference, (*missing, *turns.doubts))

    @property
    def bound(self) -> Bound:
        """The kernel in its buffers, as the first pass has them."""
        return self.turns.bound

    def measure(self, plan: Plan, progress: Progress | None) -> Measurement:
        """Time the kernel against the fastest form of its reference."""
        forms: tuple[FormTime, ...] = ()
        remarks = self.remarks
        if self.reference is not None:
            settled = self._settle(self.reference, plan)
            self.reference.pass_over()  # by the form to beat, which may be known and not yet built
            forms = settled.forms
            remarks = (*remarks, *settled.doubts)
        sides = Sides(
            self.turns.dispatches,
            self.reference,
            repeats=len(self.turns.passes),
            probe=probe_of(self.device),
            refresh=self._exchange,
            interlude=self.audit.run,
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
            with self.device.thread_qos():
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
        yardsticks = self.turns.yardsticks
        known = self.bound.workload.dtype.name == "float32" and yardsticks.errors
        return yardsticks.pass_s if known else 0.0

    def _exchange(self, look: int) -> None:
        self.turns.exchange(look)
        if self.reference is not None:
            self.reference.load(*self.turns.works)
