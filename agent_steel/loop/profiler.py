"""What bounds a kernel, from measurements alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from agent_steel.history.lineage import Lineage
from agent_steel.proposal import Diagnosis, Fact, count_facts
from agent_steel.roofline import Triers, measure_roofline
from agent_steel.source import read_line
from metalbench.checking.check import CheckSubject, check_subject
from metalbench.checking.findings import ALL, parse_tools
from metalbench.checking.performance import lint_kernel
from metalbench.errors import MetalBenchError
from metalbench.kernel.header import device_names
from metalbench.measure.analysis import Roofline, roofline
from metalbench.measure.device_limits import Peaks
from metalbench.measure.measurement import Plan
from metalbench.msl.frontend.tokens import lex
from metalbench.profiling import profile_kernel
from metalbench.profiling.prediction import Prediction, predict_kernel
from metalbench.report import numbers
from metalbench.run.trial import Silent, Trial
from metalbench.sandbox.executors import open_sandboxed_device
from metalbench.store.result import Result, Status, format_tunables
from metalbench.verify.flow import small_sizes

if TYPE_CHECKING:
    from agent_steel.attempt import Attempt
    from agent_steel.loop.settings import SearchSubject
    from metalbench.checking.findings import CheckFinding
    from metalbench.kernel.header import Kernel
    from metalbench.measure.measurement import Measurement
    from metalbench.profiling.gpu_chips import GpuChip

SECONDS = 1.0
MOST_FAILURES = 10
NOT_MEASURED = Diagnosis("unknown", "Not measured.")
BOUNDS = {
    "launch": "It takes little longer than an empty kernel: the launch bounds it, not the work.",
    "memory": "Memory is the nearer roof: its bytes take a copy longer than its operations take.",
    "compute": "Arithmetic is the nearer roof: its operations take longer than copying its bytes.",
    "unknown": "What bounds it is not known: no roof of the device could be measured.",
}
# Nearer than that a roof is what holds a kernel back.
NEAR_A_ROOF = 0.4
FAR_FROM_IT = "something else holds it back, such as latency, synchronisation or its geometry."
SIMULATED = "These are host times of a simulation, and say nothing about a GPU."
COUNTED = {
    "threadgroup barriers": ("threadgroup_barrier", "simdgroup_barrier"),
    "loops": ("for", "while"),
    "branches": ("if", "switch"),
}


MOST_LINTS = 12
MOST_CAUSES = 4
MOST_LINES = 6
# A checked build of a wrong attempt: sizes, findings, and time of a run in s.
MOST_CHECKED_SIZES, MOST_DEFECTS = 2, 4
CHECK_S = 20.0


class WrongStartError(MetalBenchError):
    """The kernel that is to be made faster is not correct: there is nothing to begin with."""


class Profiler:
    """Measures versions of kernels as `metalbench run` does; a device's roofs once."""

    def __init__(
        self,
        triers: Triers,
        *,
        seed: int = 0,
        plan: Plan | None = None,
        roofs: bool = True,
        chips: Sequence[GpuChip] = (),
    ) -> None:
        self._triers = triers
        self._seed = seed
        self._plan = plan or Plan(seconds=SECONDS)
        self._wants_roofs = roofs
        self._roofs: Peaks | None = None
        self._results: dict[tuple[object, ...], Result] = {}
        self._counted: dict[tuple[object, ...], tuple[Fact, ...]] = {}
        self._lints: dict[tuple[object, ...], tuple[Fact, ...]] = {}
        # The Apple GPUs whose times are predicted.
        self._chips = tuple(chips)
        self._predictions: dict[tuple[object, ...], tuple[Fact, ...]] = {}

    def measure(self, subject: SearchSubject, attempt: Attempt) -> Result:
        """Verify an attempt and time it together with MLX; each is measured once.

        Raise WrongStartError if it is not correct, MachineError if the machine is at fault,
        DeclarationError if the task is.
        """
        key = (subject.place, attempt.source_key)
        if key not in self._results:
            self._results[key] = self._measure(subject, attempt)
        return self._results[key]

    def diagnose(
        self, subject: SearchSubject, attempt: Attempt, history: Sequence[Attempt]
    ) -> Diagnosis:
        """Diagnose an attempt; raise the errors of `measure`."""
        result = self.measure(subject, attempt)
        if self._wants_roofs:
            self._wants_roofs = False
            self._roofs = measure_roofline(self._triers, subject.device)
        found = diagnosis(result, subject.kernel_of(attempt), self._roofs, history)
        more = (
            *self.list_counts(subject, attempt),
            *self.list_lints(subject, attempt),
            *self.list_other_predictions(subject, attempt),
            *describe_objectives(subject),
        )
        return replace(found, facts=(*found.facts, *more))

    def list_lints(self, subject: SearchSubject, attempt: Attempt) -> tuple[Fact, ...]:
        """Return the slow places of an attempt's code; none if it cannot be analysed."""
        key = (subject.place, attempt.source_key)
        if key not in self._lints:
            kernel = subject.kernel_of(attempt)
            try:
                lints = lint_kernel(
                    kernel,
                    subject.task,
                    subject.size,
                    dtype_name=subject.dtype,
                    tunables=attempt.tunables,
                )
                self._lints[key] = tuple(list_slow_places(lints.found, kernel))
            except MetalBenchError:
                self._lints[key] = ()
        return self._lints[key]

    @staticmethod
    def find_defects(subject: SearchSubject, attempt: Attempt) -> str:
        """Return what a checked build finds in a wrong attempt at small sizes, with its lines.

        '' if it finds nothing, or if the attempt has no checked build.
        """
        kernel, task = subject.kernel_of(attempt), subject.task
        what = CheckSubject(kernel, task, tuple(small_sizes(task))[:MOST_CHECKED_SIZES])
        try:
            found = check_subject(
                what,
                open_sandboxed_device(),
                parse_tools([ALL]),
                dtype=subject.dtype,
                tunables=kernel.resolve_tunables(attempt.tunables, dtype=subject.dtype),
                time_limit=CHECK_S,
            )
        except MetalBenchError:
            return ""
        return "\n".join(map(_describe_finding, found.errors[:MOST_DEFECTS]))

    def list_counts(self, subject: SearchSubject, attempt: Attempt) -> tuple[Fact, ...]:
        """Return counts of an attempt at the smallest size; none if it cannot be counted."""
        key = (subject.place, attempt.source_key)
        if key not in self._counted:
            task, kernel = subject.task, subject.kernel_of(attempt)
            size = next(iter(task.sizes))
            try:
                counted = profile_kernel(
                    kernel, task, size, dtype=subject.dtype, tunables=attempt.tunables
                )
                self._counted[key] = tuple(count_facts(counted))
            except MetalBenchError:
                self._counted[key] = ()
        return self._counted[key]

    def list_other_predictions(self, subject: SearchSubject, attempt: Attempt) -> tuple[Fact, ...]:
        """Return the predicted times of an attempt on the chips that can be predicted."""
        return tuple(fact for chip in self._chips for fact in self._predict(subject, attempt, chip))

    def _predict(self, subject: SearchSubject, attempt: Attempt, chip: GpuChip) -> tuple[Fact, ...]:
        key = (subject.place, attempt.source_key, chip.key)
        if key not in self._predictions:
            try:
                kernel = subject.kernel_of(attempt)
                found = predict_kernel(
                    kernel.on(device_names(chip.target)),
                    *(subject.task, subject.size, chip),
                    dtype_name=subject.dtype,
                    tunables=kernel.resolve_tunables(attempt.tunables, dtype=subject.dtype),
                )
                self._predictions[key] = tuple(list_predictions(found, kernel))
            except MetalBenchError:
                self._predictions[key] = ()
        return self._predictions[key]

    def _measure(self, subject: SearchSubject, attempt: Attempt) -> Result:
        trial = Trial(
            subject.entry,
            subject.kernel_of(attempt),
            subject.dtype,
            subject.size,
            seed=self._seed,
            plan=self._plan,
            tunables=attempt.tunables,
        )
        result = self._triers.attempt(subject.device, trial, (), Silent())
        self.expect_correct(subject, result)
        return result

    @staticmethod
    def expect_correct(subject: SearchSubject, result: Result) -> None:
        """Raise WrongStartError if a version is incorrect."""
        if result.status is not Status.CORRECT:
            said = "; ".join(each.message for each in result.failures)
            raise WrongStartError(
                f"{subject.entry.name} is not correct, so there is nothing to begin with: {said}; "
                f"`metalbench run {subject.entry.name}` has the full report"
            )


def diagnosis(
    result: Result, kernel: Kernel, roofs: Peaks | None, history: Sequence[Attempt] = ()
) -> Diagnosis:
    """Say what bounds a kernel that was measured. Every number in it was measured here."""
    measured, analysis = result.measurement, result.analysis
    assert measured is not None
    assert analysis is not None
    unknown = BOUNDS["unknown"]
    place = roofline(measured.work_ns, analysis.work, roofs, unknown)
    bound = "launch" if measured.launch_bound else place.bound
    text = BOUNDS[bound]
    if place.fraction is not None and bound != "launch":
        text += f" It reaches {100 * place.fraction:.0f} % of that roof"
        text += "." if place.fraction >= NEAR_A_ROOF else f": {FAR_FROM_IT}"
    elif not place.valid:
        text += " It is faster than that roof, as of what stays in the caches."
    if result.device.simulated:
        text = f"{text} {SIMULATED}"
    facts = (
        *_times(measured),
        *_work(result, place, roofs),
        *_geometry(result),
        *describe_text(kernel, result.case.tunables),
        *(Fact("note", note) for note in result.notes),
        *describe_past(history),
    )
    return Diagnosis(bound, text, tuple(facts))


def _times(measured: Measurement) -> Iterator[Fact]:
    yield Fact("time of one pass", numbers.time(measured.work_ns))
    if measured.work_floor_ns:
        share = measured.work_floor_ns / measured.work_ns.value
        floor = numbers.short_time(measured.work_floor_ns)
        yield Fact("launch floor", f"{floor} for empty kernels, {100 * share:.0f} % of the time")
    if measured.ratio is not None:
        yield Fact("MLX / kernel", numbers.ratio(measured.ratio))
    yield Fact("stability", f"{measured.stability:.2f}")


def _work(result: Result, place: Roofline, roofs: Peaks | None) -> Iterator[Fact]:
    assert result.analysis is not None
    work = result.analysis.work
    yield Fact("operations", numbers.quantity(work.flops, "FLOP"))
    yield Fact("bytes moved", f"{numbers.size(work.bytes)} at least")
    yield Fact("arithmetic intensity", f"{work.intensity:.3g} FLOP per byte")
    yield Fact("throughput", f"{work.gflops.value:.3g} GFLOP/s, {work.gbytes_per_s.value:.3g} GB/s")
    if roofs is not None:
        yield Fact(
            "roofs", f"{roofs.gflops:.3g} GFLOP/s, {roofs.gbytes_per_s:.3g} GB/s ({roofs.source})"
        )
    if place.fraction is not None:
        yield Fact("roofline", f"{100 * place.fraction:.0f} % of the {place.bound} roof")


def _geometry(result: Result) -> Iterator[Fact]:
    for each in result.occupancy:
        groups = " x ".join(map(str, each.threadgroups))
        lanes = f", {each.idle_lanes} idle lanes" if each.idle_lanes else ""
        yield Fact(
            f"launch of {each.pipeline}",
            f"{groups} threadgroups of {each.threads_per_threadgroup} threads "
            f"({each.simdgroups} SIMD-groups{lanes}; {each.max_threads} threads at most), "
            f"{each.threadgroup_bytes} of {each.max_threadgroup_bytes} bytes of threadgroup memory",
        )


def describe_text(kernel: Kernel, tunables: Mapping[str, int]) -> Iterator[Fact]:
    """Yield facts of the text of a kernel with the values of its tunables."""
    tokens = lex(kernel.source).text
    for name, words in COUNTED.items():
        yield Fact(f"{name} in the file", str(sum(tokens.count(word) for word in words)))
    yield Fact("math", kernel.math)
    if kernel.tunables:
        yield Fact("tunables", format_tunables(tunables))


def list_slow_places(found: Iterable[CheckFinding], kernel: Kernel) -> Iterator[Fact]:
    """Yield a fact for each of the first MOST_LINTS findings of lints, with its line's text."""
    for each in islice(found, MOST_LINTS):
        frame = each.frame
        where = f" at {_quote(kernel, frame.file, frame.line)}" if frame is not None else ""
        yield Fact("slow code", f"{each.kind}{where}: {each.message}; {each.kind_info.advice}")


def _describe_finding(found: CheckFinding) -> str:
    frame = found.frame
    where = f" at {Path(frame.file).name}:{frame.line}" if frame is not None else ""
    return f"checked build: {found.kind}{where}: {found.message}; {found.kind_info.advice}"


def _quote(kernel: Kernel, file: str, line: int) -> str:
    """Return the name of a file with the line, and the text of the line if it is known."""
    text = read_line(kernel, file, line)
    return f"{Path(file).name}:{line}" + (f" (`{text}`)" if text else "")


def list_predictions(found: Prediction, kernel: Kernel) -> Iterator[Fact]:
    """Yield the predicted time on an Apple GPU, the largest causes and the slowest lines.

    Lines have their text and their causes.
    """
    low, middle, high = (
        numbers.short_time(1e9 * each) for each in (found.low_s, found.seconds, found.high_s)
    )
    yield Fact(
        f"predicted on {found.chip.name}", f"{middle} ({low} to {high}), which is not a measurement"
    )
    shares = {name: seconds / found.seconds for name, seconds in found.parts.items()}
    causes = (f"{name} {100 * share:.0f} %" for name, share in islice(shares.items(), MOST_CAUSES))
    yield Fact("predicted time by cause", ", ".join(causes))
    for (file, line), seconds in islice(found.lines.items(), MOST_LINES):
        share = 100 * seconds / found.seconds
        of_line = found.find_causes((file, line))
        parts = (f"{name} {100 * each / seconds:.0f} %" for name, each in of_line.items())
        yield Fact(
            "predicted slow line",
            f"{_quote(kernel, file, line)}, {share:.0f} % of the time: "
            + ", ".join(islice(parts, MOST_CAUSES)),
        )


def describe_objectives(subject: SearchSubject) -> Iterator[Fact]:
    """Yield what a candidate must be by several objectives; nothing for a single one."""
    if subject.others:
        names = ", ".join(subject.objectives)
        rule = "a candidate must be better on one at least, and not worse on any other"
        yield Fact("objectives", f"{names}: {rule}")


def describe_past(history: Sequence[Attempt]) -> Iterator[Fact]:
    """Yield facts of earlier attempts: techniques, and those that failed."""
    lineage = Lineage(history)
    techniques = lineage.techniques()
    if techniques:
        kept = [each.name for each in techniques if each.kept]
        yield Fact("techniques tried", f"{len(techniques)}, kept: {', '.join(kept) or 'none'}")
    for technique, reason in lineage.failures()[-MOST_FAILURES:]:
        yield Fact("failed", f"{technique.name}: {reason}")
