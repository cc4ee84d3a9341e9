"""Time a kernel in its buffers against its reference on the same inputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from metalbench.kernel.prepare import Bound, Compiled
from metalbench.measure import FormTime, Measurement, Mode, Plan, Sides, measure
from metalbench.measure.probe import create_probe
from metalbench.measure.series import Progress
from metalbench.run.reuse_audit import ReuseAudit
from metalbench.run.turns import BufferRotation
from metalbench.task.workload import Workload
from metalbench.verify.examine import ReferenceErrors

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.reference import Reference
    from metalbench.run.contest import FormChoice

# Time to choose the form of the reference: a part of the measurement's, but at least the seconds in
# which 2 % can be distinguished at a noise of 10 %.
FORMS_SHARE = 0.25
FORMS_LEAST_S = 1.5


@dataclass
class Timed:
    """A kernel and its reference on the same inputs, ready to be timed.

    Between batches the inputs of both are exchanged. Nothing else changes.
    """

    device: Device
    rotation: BufferRotation
    reference: Reference | None
    remarks: tuple[str, ...] = ()
    audit: ReuseAudit = field(init=False)

    def __post_init__(self) -> None:
        """Create the audit of the timed passes."""
        self.audit = ReuseAudit(self.rotation)

    @classmethod
    def prepare(
        cls,
        compiled: Compiled,
        work: Workload,
        mode: Mode,
        reference_errors: ReferenceErrors | None = None,
    ) -> Timed:
        """Bind a kernel as `BufferRotation.of`, and create its reference on the same inputs."""
        from metalbench.reference import create_reference  # imports MLX

        device = compiled.device
        rotation = BufferRotation.of(compiled, work, mode, reference_errors)
        cold = mode is Mode.COLD
        sets = len(rotation.rounds[0]) if cold else len(rotation.rounds)
        keeps = sets if cold else 0
        reference, missing = create_reference(device.kind, work, copies=sets, keeps=keeps)
        if reference is not None:
            reference.load(*rotation.workloads)
        return cls(device, rotation, reference, (*missing, *rotation.doubts))

    @property
    def bound(self) -> Bound:
        """The first pass: the kernel in its buffers."""
        return self.rotation.bound

    def measure(self, plan: Plan, progress: Progress | None) -> Measurement:
        """Time the kernel against the fastest form of its reference."""
        forms: tuple[FormTime, ...] = ()
        remarks = self.remarks
        # Choose the form of the reference.
        if self.reference is not None:
            choice = self._choose_form(self.reference, plan)
            self.reference.pass_over()  # builds a form whose choice was stored
            forms = choice.forms
            remarks = (*remarks, *choice.doubts)
        # Sample pairs.
        sides = Sides(
            self.rotation.dispatches,
            self.reference,
            repeats=len(self.rotation.passes),
            probe=create_probe(self.device),
            refresh=self._exchange_inputs,
            interlude=self.audit.run,
        )
        measured = measure(self.device, sides, plan, progress=progress)
        return replace(measured, forms=forms, remarks=(*remarks, *measured.remarks))

    def _choose_form(self, reference: Reference, plan: Plan) -> FormChoice:
        """Find the fastest form of the reference, or load the choice of an earlier run."""
        from metalbench.run import known_form
        from metalbench.run.contest import choose_form

        where = self.device.name, plan.mode.value
        choice = known_form.load_choice(reference, *where)
        if choice is None:
            with self.device.thread_qos():
                choice = choose_form(
                    reference,
                    seconds=max(FORMS_LEAST_S, FORMS_SHARE * plan.seconds),
                    seed=plan.seed,
                    window_s=plan.window_ns_on(own_clock=self.device.own_clock) / 1e9,
                    pass_s=self._reference_pass_s,
                )
            known_form.store_choice(choice, reference, *where)
        return choice

    @property
    def _reference_pass_s(self) -> float:
        """The time in s of a pass of the reference in verification; 0 if it is not comparable."""
        # Verification runs the reference in float32, for every element type.
        errors = self.rotation.reference_errors
        is_comparable = self.bound.workload.dtype.name == "float32" and errors.errors
        return errors.pass_s if is_comparable else 0.0

    def _exchange_inputs(self, batch: int) -> None:
        self.rotation.exchange_inputs(batch)
        if self.reference is not None:
            self.reference.load(*self.rotation.workloads)
