"""Examine one run of a kernel: results, guard zones and inputs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from metalbench.errors import TaskError
from metalbench.finding_kinds import Kind
from metalbench.kernel.prepare import Bound, Compiled
from metalbench.task.declaration import is_spelled
from metalbench.task.dtypes import DType
from metalbench.task.workload import Workload, sample_places, workload
from metalbench.verify import tolerance
from metalbench.verify import tolerance as error_rule
from metalbench.verify.explanation import describe_mismatch, find_explanation
from metalbench.verify.report import Comparison, Finding, Report
from metalbench.verify.tolerance import ErrorNorms, OutputTolerance, model_float32_errors

SUSPECT_ORACLE = (
    "MLX computes what the kernel computes, and not what the oracle does: is the task's oracle "
    "wrong?"
)


@dataclass
class ReferenceErrors:
    """The measured errors of the reference at one size and element type.

    `errors` are by variation of the inputs and by output. `seeds` are, by variation, the seeds of
    the inputs. `pass_s` is the shortest time in s of computing the outputs, infinite if unknown;
    other work may have run at the same time.
    """

    errors: dict[str, dict[str, ErrorNorms]] = field(default_factory=dict)
    seeds: dict[str, int] = field(default_factory=dict)
    pass_s: float = math.inf


# Elements of a result that are compared with those of earlier results.
MOST_KEPT = 4096
# Fewer integers may agree by chance.
LEAST_INTEGERS = 16


class EarlierResults:
    """Some elements of each result of a verification at one size, by seed and output."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, str], bytes] = {}

    def keep(self, seed: int, output: str, got: np.ndarray[Any, Any]) -> None:
        """Keep elements of the result for the inputs of a seed."""
        self._kept[seed, output] = _select_elements(got).tobytes()

    def find_seed(self, seed: int, output: str, got: np.ndarray[Any, Any]) -> int | None:
        """Return another seed than `seed` whose result `got` is; None if it is of none.

        The result is also of none if it may equal another one by chance: a few integers, or one
        value everywhere.
        """
        part = _select_elements(got)
        few = part.dtype.kind != "f" and part.size < LEAST_INTEGERS
        if few or (part.size > 1 and (part == part[0]).all()):
            return None
        same = part.tobytes()
        for (other, name), kept in self._kept.items():
            if other != seed and name == output and kept == same:
                return other
        return None


def _select_elements(got: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    flat = got.reshape(-1)
    return flat[:: max(1, flat.size // MOST_KEPT)]


@dataclass(frozen=True)
class Examiner:
    """Runs a bound kernel and judges the contents of its buffers."""

    bound: Bound
    device: Any
    time_limit: float
    # Measured at the first seed of each variation: MLX takes longer than all other checks, and for
    # most distributions its errors differ little between seeds. A result that fails by these errors
    # is judged again by those of its seed.
    reference_errors: ReferenceErrors = field(default_factory=ReferenceErrors)
    # If given, repeated runs also use other judge_memory.
    compiled: Compiled | None = None
    # Results for other inputs of this size, for kernels that return one of them again.
    earlier: EarlierResults = field(default_factory=EarlierResults)

    @property
    def workload(self) -> Workload:
        """The workload of the bound kernel."""
        return self.bound.workload

    def run(self, turn: int = 0) -> None:
        """Poison the outputs with a pattern that depends on `turn`, and run."""
        self.bound.poison(self.workload.seed + turn)
        self.rerun()

    def rerun(self) -> None:
        """Run without changing judge_memory first."""
        self.device.run(self.bound.dispatches, time_limit=self.time_limit)

    def examine(self) -> Report:
        """Run once and judge outputs, guard zones and inputs."""
        self.run()
        return self.judge_last_run()

    def judge_last_run(self) -> Report:
        """Judge outputs, guard zones and inputs as the last run left them."""
        findings = self.judge_memory()
        return Report(tuple(findings)) if findings else self._judge_outputs()

    def make_finding(self, kind: Kind, message: str, output: str = "") -> Finding:
        """Return a finding whose message names task, size and seed."""
        work = self.workload
        size = work.size
        if not is_spelled(size):
            size += ": " + ", ".join(f"{k}={v}" for k, v in work.task.extents(size).items())
        seed = f"{work.seed}, {work.variation}" if work.variation else f"{work.seed}"
        text = f"[{work.task.name}] {message} (size {size}; seed {seed})"
        return Finding(kind, text, work.size, work.seed, output)

    def judge_memory(self) -> list[Finding]:
        """Return findings about guard zones and inputs after a run."""
        findings = []
        bound = self.bound
        for name, each in {**bound.inputs, **bound.outputs, **bound.scratches}.items():
            where = each.broken_guard()
            if where:
                shape = f"{each.dtype.name} {each.shape}"
                message = f"{name}: the kernel wrote outside of {shape}, {where}"
                findings.append(self.make_finding(Kind.GUARD_ZONE, message, name))
        for name, each in bound.inputs.items():
            if name not in bound.inouts and not each.holds(self.workload.inputs[name]):
                message = f"{name}: the kernel changed its input; declare it `device const`"
                findings.append(self.make_finding(Kind.INPUT_CHANGED, message, name))
        return findings

    def _judge_outputs(self) -> Report:
        """Compare the outputs; findings are by the widest tolerance that applies."""
        for work, reference_errors in self._list_tolerances():
            compared = self._compare(work, reference_errors)
            if all(each.passed for each, _ in compared):
                return Report((), tuple(each for each, _ in compared))
        # Last, because the explanation of a finding may run the kernel again.
        findings = [
            self._describe_mismatch(work, each, tolerance)
            for each, tolerance in compared
            if not each.passed
        ]
        return Report(tuple(findings), tuple(each for each, _ in compared))

    def _list_tolerances(self) -> Iterator[tuple[Workload, dict[str, ErrorNorms]]]:
        """Yield workloads to compare with and errors of the reference, narrow ones first."""
        work, known = self.workload, self.reference_errors
        is_judged = work.size in work.task.judges
        if not is_judged and self._is_reference_slow:
            yield work, dict.fromkeys(work.expected, ErrorNorms(0.0, 0.0))
        yield work, self._find_reference_errors()
        if not is_judged and known.seeds.get(work.variation) != work.seed:
            yield work, self._measure_reference()
        if not is_judged:
            # MLX's errors may be small by chance for these inputs.
            yield work, model_float32_errors(work, self._find_reference_errors())
            return
        # The judging reference itself may be wrong: MLX's variance of two million numbers about 100
        # is off by a thousandth. Some oracles do not support all sizes.
        with suppress(TaskError):
            errors = self._measure_judge()
            yield work.by_oracle, errors

    def _compare(
        self, work: Workload, reference_errors: dict[str, ErrorNorms]
    ) -> list[tuple[Comparison, OutputTolerance]]:
        """Compare the outputs of the last run with those that `work` expects."""
        comparisons = []
        for name, expected in work.expected.items():
            kind = work.task.outputs[name].type_in(work.dtype)
            # A copy, so that the compared values do not change meanwhile.
            got, scale = self.bound.read(name).copy(), self._scale(work, name)
            tolerance = error_rule.derive_tolerance(expected, reference_errors[name], kind)
            self.earlier.keep(self.workload.seed, name, got)
            compared = error_rule.compare(name, got, expected, tolerance=tolerance, scale=scale)
            compared = replace(compared, size=work.size, seed=work.seed, dtype=kind.name)
            comparisons.append((compared, tolerance))
        return comparisons

    @staticmethod
    def _scale(work: Workload, name: str) -> Any:
        is_float = work.task.outputs[name].type_in(work.dtype).is_float
        return work.scale[name] if is_float else work.expected[name]

    def _measure_judge(self) -> dict[str, ErrorNorms]:
        """Return the errors of the reference that judges in place of the oracle."""
        judged, exact = self.workload, self.workload.by_oracle
        return {
            name: error_rule.measure_error_norms(exact.expected[name], each, exact.scale[name])
            for name, each in judged.expected.items()
        }

    def _find_reference_errors(self) -> dict[str, ErrorNorms]:
        work, known = self.workload, self.reference_errors
        if work.variation not in known.errors and work.size in work.task.judges:
            # The reference is the judge there, so its error is unknown.
            widest = {
                name: error_rule.largest_counted_norms(work.scale[name]) for name in work.expected
            }
            known.errors[work.variation] = widest
        if work.variation not in known.errors and self._is_reference_slow:
            known.errors[work.variation] = error_rule.model_errors(work)
        if work.variation not in known.errors:
            self._measure_reference()
        return known.errors[work.variation]

    @property
    def _is_reference_slow(self) -> bool:
        """Whether MLX runs on the CPU although the kernel runs on a GPU.

        MLX may take minutes then. Its errors can only widen what is allowed, as modelled errors do:
        it runs only for results that fail without.
        """
        from metalbench import reference  # imports MLX

        return bool(reference.explain_missing_gpu(self.device.kind))

    def _measure_reference(self) -> dict[str, ErrorNorms]:
        """Measure and return the errors of the reference for these inputs."""
        from metalbench import reference  # imports MLX

        work, known = self.workload, self.reference_errors
        start = perf_counter()
        outputs = reference.outputs(work, kind=self.device.kind)
        known.pass_s = min(known.pass_s, perf_counter() - start)
        known.seeds[work.variation] = work.seed
        known.errors[work.variation] = {
            name: error_rule.measure_error_norms(work.expected[name], each, work.scale[name])
            for name, each in outputs.items()
        }
        return known.errors[work.variation]

    def _find_unwritten_after_another_run(self, name: str) -> Any:
        """Run with another poison; return where it remains. NaN, the first one, may be a result."""
        self.run(1)
        return self.bound.unwritten(name)

    def _describe_mismatch(
        self, work: Workload, compared: Comparison, tolerance: OutputTolerance
    ) -> Finding:
        name = compared.output
        expected, scale = work.expected[name], self._scale(work, name)
        got, unwritten = self.bound.read(name).copy(), self.bound.unwritten(name)
        bad = error_rule.find_wrong(got, expected, tolerance=tolerance, scale=scale)
        if bad.any() and unwritten[bad].any():
            unwritten = unwritten & self._find_unwritten_after_another_run(name)
        kind, message = describe_mismatch(
            compared,
            got,
            expected,
            bad=bad,
            unwritten=unwritten,
            inputs=self.workload.inputs,
        )
        earlier = self.earlier.find_seed(work.seed, name, got)
        if earlier is not None:
            message += f"; the result is that of an earlier call, with the inputs of seed {earlier}"
        elif bad.any() and not unwritten[bad].any():
            explained = find_explanation(self.workload, name, got, bad)
            message += f"; {explained}" if explained else ""
        if self._is_oracle_suspect(work, name, got, tolerance):
            message += f"; {SUSPECT_ORACLE}"
        return self.make_finding(kind, message, name)

    def _is_oracle_suspect(
        self, work: Workload, name: str, got: Any, tolerance: OutputTolerance
    ) -> bool:
        """Return whether MLX agrees with the kernel's output `got`, and not with the oracle."""
        from metalbench import reference  # imports MLX

        if work.size in work.task.judges:
            return False
        expected, scale = work.expected[name], self._scale(work, name)
        mlx = reference.outputs(work, kind=self.device.kind)[name].astype(expected.dtype)
        if error_rule.compare(name, mlx, expected, tolerance=tolerance, scale=scale).passed:
            return False
        kind = work.task.outputs[name].type_in(work.dtype)
        near = error_rule.derive_tolerance(mlx, error_rule.largest_counted_norms(scale), kind)
        return error_rule.compare(name, got, mlx, tolerance=near, scale=scale).passed


# Compare repeated runs bit for bit: on the same inputs, and after runs on other inputs.

RUNS = 3
# Outputs with fewer elements than this are poisoned completely.
FEW = 64
Arrays = dict[str, np.ndarray[Any, Any]]


def examine_repeatedly(examiner: Examiner) -> Report:
    """Examine a kernel; if that passes, run it repeatedly and compare all runs."""
    report = examiner.examine()
    if report.passed:
        findings = (
            compare_repeated_runs(examiner)
            or compare_with_changed_inputs(examiner)
            or compare_over_poisoned_results(examiner)
        )
        report += Report(tuple(findings))
    return report


def compare_repeated_runs(examiner: Examiner) -> list[Finding]:
    """Run again on the same inputs, with another poison and at other addresses; compare outputs."""
    first = _copy_outputs(examiner)
    for again in range(2, RUNS + 1):
        here = _move_to_other_memory(examiner) if again == 2 else examiner
        here.run(again - 1)
        if here is not examiner:
            examiner.bound.load(examiner.workload)
        for name, before in first.items():
            if here.bound.outputs[name].holds(before):
                continue
            count, index, (old, new) = _find_difference(before, here.bound.read(name))
            wrote_nothing = here.bound.unwritten(name)[index]
            message = (
                f"{name}: run {again} on the same inputs differs from run 1 in {count} elements, "
                f"first at {index}: {old} then {'nothing' if wrote_nothing else new}; is a barrier "
                "missing, or is memory read that this run has not written?"
            )
            return [here.make_finding(Kind.NONDETERMINISTIC, message, name)]
        findings = here.judge_memory()
        if findings:
            return findings
    return []


def compare_with_changed_inputs(examiner: Examiner) -> list[Finding]:
    """Change part of the inputs, run in the memory of the last run, then in fresh memory; compare.

    Data that the kernel keeps between runs, in outputs or scratch, causes a difference. Afterwards
    the inputs are restored.
    """
    work = examiner.workload
    other = workload(
        work.task, work.size, dtype_name=work.dtype.name, seed=work.seed + work.task.turn
    )
    try:
        return compare_with_fresh_memory(
            replace(examiner, bound=examiner.bound.load(work.mix_with(other)))
        )
    finally:
        examiner.bound.load(work)


def compare_with_fresh_memory(examiner: Examiner) -> list[Finding]:
    """Run over the outputs of other inputs, then in fresh memory; compare outputs."""
    examiner.rerun()
    over = _copy_outputs(examiner)
    examiner.run()
    for name, stale in over.items():
        if examiner.bound.outputs[name].holds(stale):
            continue
        count, index, (old, new) = _find_difference(stale, examiner.bound.read(name))
        message = (
            f"{name}: a run over the results of other inputs differs from one in fresh memory "
            f"in {count} elements, first at {index}: {old} instead of {new}; the kernel must "
            "compute everything in every run, and read nothing that an earlier run left"
        )
        return [examiner.make_finding(Kind.STALE_RESULT, message, name)]
    return []


def compare_over_poisoned_results(examiner: Examiner) -> list[Finding]:
    """Run over the results of the same inputs, partly poisoned; compare outputs.

    A kernel that recognises its inputs and reuses earlier results reuses the poison. An array that
    is updated in place gets a part of its first contents instead, and the further update of the
    rest must leave it as it is.
    """
    examiner.run()
    first = _copy_outputs(examiner)
    for name, each in examiner.bound.own_outputs.items():
        count = first[name].size
        each.poison_places(sample_places(count) if count >= FEW else np.ones(count, bool))
    for name in examiner.bound.inouts:
        before = examiner.workload.inputs[name]
        examiner.bound.inputs[name].fill_places(sample_places(before.size), before)
    for each in examiner.bound.scratches.values():
        each.poison_places(sample_places(math.prod(each.shape)))
    examiner.rerun()
    for name, before in first.items():
        if examiner.bound.outputs[name].holds(before):
            continue
        count, index, (old, new) = _find_difference(before, examiner.bound.read(name))
        if name in examiner.bound.inouts.values():
            message = (
                f"{name}: an update in place of an array that has been updated differs in {count} "
                f"elements, first at {index}: {new} instead of {old}; the kernel must write every "
                "element in every run, and a further update must change nothing"
            )
            return [examiner.make_finding(Kind.STALE_RESULT, message, name)]
        message = (
            f"{name}: a run over its own results, some of them poisoned, differs from one in fresh "
            f"memory in {count} elements, first at {index}: {new} instead of {old}; the kernel "
            "must compute everything in every run, and read nothing that an earlier run left"
        )
        return [examiner.make_finding(Kind.STALE_RESULT, message, name)]
    return []


def _move_to_other_memory(examiner: Examiner) -> Examiner:
    """Return an examiner in other memory; poison the old inputs, for kernels that keep pointers."""
    if examiner.compiled is None:
        return examiner
    there = examiner.compiled.bind(examiner.workload)
    for each in examiner.bound.inputs.values():
        each.poison()
    return replace(examiner, bound=there)


def _copy_outputs(examiner: Examiner) -> Arrays:
    return {name: examiner.bound.read(name).copy() for name in examiner.bound.outputs}


def _find_difference(
    before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]
) -> tuple[int, tuple[int, ...], tuple[Any, Any]]:
    """Return the number of elements that differ in bits, the first index, and its two values."""
    unsigned = np.dtype(f"u{before.dtype.itemsize}")
    differs = before.view(unsigned) != after.view(unsigned)
    index = tuple(int(each) for each in np.argwhere(differs)[0])
    return int(differs.sum()), index, (before[index], after[index])


# Make single elements of the inputs very large: the output must change as the oracle's does.
#
# An element that a kernel omits from a sum of a million is lost in rounding. An element as large
# as a part of the sum is not.

Array = np.ndarray[Any, Any]

# Height of a spike in root mean squares of the input: LEAST to MOST, which fits half precision. It
# grows with the inputs per output.
LEAST, MOST, ELEMENTS_A_UNIT = 32.0, 2.0**13, 64
# If the oracle overflows, spikes shrink by this factor, at most SHRINKS times.
SHRINK, SHRINKS = 16.0, 3
# Numbers of very different magnitude may round by SLACK times more. A spike contributes more than
# HIDDEN of a result.
SLACK, HIDDEN = 4.0, 1e-3
TILES = (16, 32, 64, 128, 256, 512, 1024)
OF_EACH_KIND = 6
# Spikes that are tried as the cause of a fault.
EXPLAINED = 24
# Relative deviation of inputs, and how often it is drawn, to find whether rounding is magnified:
# four roundoffs of float32, in which kernels compute for every element type, since sums round more
# than once.
ROUNDING, PERTURBATIONS = 2.0**-22, 3


def add_spikes(plain: Workload) -> Workload | None:
    """Return the workload with spikes in its float inputs; None if the oracle bears none.

    Inputs whose elements depend on each other, such as ascending ones, do not change. The largest
    spike is the last element at even seeds, and anywhere at odd ones.
    """
    places = find_spike_places(plain)
    outputs = sum(math.prod(shape) for shape in plain.output_shapes.values())
    for shrunk in range(SHRINKS + 1 if places else 0):
        inputs = dict(plain.inputs)
        for name, where in places.items():
            inputs[name] = _place_spikes(inputs[name], where, outputs, SHRINK**shrunk)
        work = replace(plain, inputs=inputs)
        # An oracle may raise TaskError for spikes that are too high.
        with suppress(TaskError), np.errstate(all="ignore"):
            if stays_finite(work):
                return work
    return None


def find_spike_places(work: Workload) -> dict[str, Array]:
    """Return the flat indices of the spikes by input, the largest spike first."""
    return {
        name: _choose_places(each, _create_generator(work, name), work.seed % 2)
        for name, each in work.inputs.items()
        if work.task.inputs[name].type_in(work.dtype).is_float
        and not work.task.inputs[name].together
    }


def examine_spikes(examiner: Examiner) -> Report:
    """Run on inputs with spikes and compare the outputs with the oracle's.

    Inputs that magnify rounding errors beyond the tolerance are not judged: no kernel could agree
    with the oracle. The report then says so.
    """
    examiner.run()
    work = examiner.workload
    found = examiner.judge_memory()
    if found:
        return Report(tuple(found))
    found = _compare_outputs(examiner)
    if found and magnifies_rounding(work):
        return Report(
            skipped=(
                f"spikes are not judged, as they magnify rounding: seed {work.seed} at size "
                f"{work.size}",
            )
        )
    return Report(tuple(found))


def magnifies_rounding(work: Workload) -> bool:
    """Return whether results that differ by rounding alone would be rejected as well.

    They are the oracle's for inputs off by a rounding, with inexact arithmetic if it supports that:
    in a deep network each layer magnifies the rounding of those before it.
    """
    for turn in range(PERTURBATIONS):
        random = np.random.Generator(np.random.Philox(turn))
        inputs = {
            name: values.astype(np.float64) * (1 + ROUNDING * random.standard_normal(values.shape))
            if work.task.inputs[name].type_in(work.dtype).is_float
            else values
            for name, values in work.inputs.items()
        }
        changed = replace(work, inputs=inputs)
        with np.errstate(all="ignore"):
            perturbed = {**changed.expected, **error_rule.evaluate_inexactly(changed, turn)}
        for name, expected in work.expected.items():
            kind = work.task.outputs[name].type_in(work.dtype)
            if (
                kind.is_float
                and _find_far_off(perturbed[name], expected, work.scale[name], kind).any()
            ):
                return True
    return False


def _create_generator(work: Workload, name: str) -> np.random.Generator:
    key = f"{work.task.name}/{name}/{work.size}/{work.seed}/spikes".encode()
    entropy = int.from_bytes(hashlib.sha256(key).digest(), "little")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))


def _choose_places(values: Array, random: np.random.Generator, anywhere_first: int) -> Array:
    """Return flat indices: last and first element, ends of rows, edges of tiles, random ones."""
    last, cols = values.size - 1, values.shape[-1] if values.ndim else 1
    rows = values.size // cols
    ends = random.integers(rows, size=OF_EACH_KIND) * cols
    tiles = random.choice(np.array(TILES), size=OF_EACH_KIND)
    edges = tiles * random.integers(1 + values.size // tiles) - random.integers(2)
    anywhere = random.integers(values.size, size=OF_EACH_KIND)
    several = [[last, 0], ends, ends + cols - 1, edges, anywhere]
    if anywhere_first:
        several.insert(0, random.permutation(np.concatenate([edges, anywhere])))
    found = np.clip(np.concatenate(several), 0, last).astype(np.int64)
    _, first = np.unique(found, return_index=True)
    # Only a few elements of a short input, so that others remain small.
    return np.asarray(found[np.sort(first)][: max(1, values.size // 8)])


def _place_spikes(values: Array, places: Array, outputs: int, shrink: float) -> Array:
    """Set spikes with the signs of the elements; the first is the largest, others at most half."""
    flat = values.reshape(-1).astype(np.float64)
    finite = flat[np.isfinite(flat)]
    root = float(np.sqrt(np.square(finite).mean())) if finite.size else 1.0
    height = float(np.clip(values.size / outputs / ELEMENTS_A_UNIT, LEAST, MOST)) * root / shrink
    height = min(height, _most(values.dtype))
    heights = height * np.linspace(0.5, 0.25, places.size)
    heights[0] = height
    spiked = values.reshape(-1).copy()
    spiked[places] = np.copysign(heights, np.nan_to_num(flat[places], nan=1.0))
    spiked.flags.writeable = False
    return spiked.reshape(values.shape)


def stays_finite(work: Workload) -> bool:
    """Return whether every output is finite, with a margin for intermediate sums of a kernel.

    Outputs may be infinite if inputs are.
    """
    finite = all(np.isfinite(each.astype(np.float32)).all() for each in work.inputs.values())
    for name, expected in work.expected.items():
        kind = work.task.outputs[name].type_in(work.dtype)
        if not kind.is_float:
            continue
        most = _most(kind.numpy)
        for values in (expected, work.scale[name]):
            known = np.isfinite(values)
            if (finite and not known.all()) or not (np.abs(values[known]) < most).all():
                return False
    return True


def _most(kind: np.dtype[Any]) -> float:
    """Return the largest number with a margin for intermediate sums of a kernel."""
    import ml_dtypes  # listing kernels does without

    return float(ml_dtypes.finfo(kind).max) / SHRINK  # type: ignore[no-untyped-call]


def _compare_outputs(examiner: Examiner) -> list[Finding]:
    work = examiner.workload
    for name, expected in work.expected.items():
        kind = work.task.outputs[name].type_in(work.dtype)
        got = examiner.bound.read(name)
        if kind.is_float:
            bad = _find_far_off(got, expected, work.scale[name], kind)
        else:
            bad = np.asarray(got != expected)
        if bad.any():
            return [_finding(examiner, name, bad)]
    return []


def _find_far_off(got: Array, expected: Array, scale: Array, kind: DType) -> Array:
    rule = tolerance.derive_tolerance(expected, tolerance.largest_counted_norms(scale), kind)
    allowed = replace(rule, fixed=SLACK * rule.fixed, relative=SLACK * rule.relative)
    bad = tolerance.find_wrong(got, expected, tolerance=allowed, scale=scale)
    if bad.any():
        error = tolerance.absolute_errors(got.astype(np.float64), expected)
        bad &= ~(error <= HIDDEN * np.abs(expected))
    return bad


def _finding(examiner: Examiner, name: str, bad: Array) -> Finding:
    work = examiner.workload
    index = tuple(int(each) for each in np.argwhere(bad)[0])
    values = examiner.bound.read(name).copy()
    expected, got = work.expected[name][index], float(values[index])
    came = (
        f"{name}: expected {float(expected):.9g} at {index[0] if len(index) == 1 else index}, "
        f"got {got:.9g}"
    )
    explained = find_explanation(work, name, values, bad)
    if explained or not math.isfinite(got):
        # The spikes are then not the cause.
        message = f"{came}; {explained}" if explained else came
        return examiner.make_finding(Kind.WRONG_RESULT, message, name)
    inputs = " and ".join(
        f"{each.size} elements of {other}" for other, each in find_spike_places(work).items()
    )
    left_out = _find_omitted_spike(work, name, index, got)
    message = f"{came}, where {inputs} are far larger than the others" + (
        f"; {left_out}" if left_out else ""
    )
    return examiner.make_finding(Kind.WRONG_RESULT, message, name)


def _find_omitted_spike(work: Workload, output: str, index: tuple[int, ...], got: float) -> str:
    """Return the spike whose omission gives the actual result; an empty string if there is none."""
    off = abs(got - float(work.expected[output][index]))
    spiked = find_spike_places(work)
    for name, places in spiked.items():
        for place in places[: EXPLAINED // len(spiked)]:
            values = work.inputs[name].copy()
            values.reshape(-1)[place] = 0
            without = replace(work, inputs={**work.inputs, name: values})
            with np.errstate(all="ignore"):
                _ = without.expected
            if abs(got - float(without.expected[output][index])) < off / 100:
                where = np.unravel_index(place, values.shape)
                return f"it is as if {name}[{', '.join(map(str, where))}] were left out"
    return ""
