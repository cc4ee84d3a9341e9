"""Make trials from samples, and find the samples without an evaluation."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from metalbench.errors import DeclarationError, suggestion
from metalbench.kernel.header import Kernel, device_names
from metalbench.kernel.library import Entry, Library
from metalbench.kernelbench.answers import (
    NOWHERE,
    GenerationOutcome,
    UnusableSample,
    classify_failure,
    decode_text,
    parse_sample,
)
from metalbench.kernelbench.folder import SampleFile, SamplePlan, get_level_name, get_set_name
from metalbench.measure.measurement import Plan as Sampling
from metalbench.run.trial import ALL, Stage, Trial, describe_case
from metalbench.store.history import Evaluation, SampleOutcome, SamplePlace
from metalbench.store.result import DeviceFacts, Failure, Result, Status

# Reasons that one error lists.
MOST_FAULTS = 3


@dataclass(frozen=True)
class TrialConditions:
    """The conditions of all trials. `size` None is the headline size of the device.

    `oracle`, `timed` and `unconfined` are as in a trial.
    """

    dtype: str = "float32"
    size: str | None = None
    seed: int = 0
    sampling: Sampling = field(default_factory=Sampling)
    oracle: str = ALL
    timed: bool = True
    unconfined: bool = False

    def decides(self, evaluation: Evaluation) -> bool:
        """Return whether a known evaluation is enough: a correct sample may lack its time."""
        is_correct = evaluation.outcome == GenerationOutcome.CORRECT.value
        return not (self.timed and is_correct and evaluation.kernel_ns is None)


@dataclass(frozen=True)
class EvaluationJob:
    """One sample to be evaluated, with the task that it is to solve."""

    sample: SampleFile
    entry: Entry
    place: SamplePlace


def _find_level_tasks(level: str, library: Library) -> list[Entry]:
    known, name = library.sets(), get_set_name(level)
    if name not in known:
        hint = suggestion(level, map(get_level_name, known))
        raise DeclarationError(f"{level}: expected level_N, or a set of tasks; {hint}")
    return [library.entry(each) for each in library.names(name)]


def find_tasks(levels: Iterable[str], library: Library) -> dict[str, list[Entry]]:
    """The problems of every level, in their order: problem 1 is the first task of its set.

    Raise DeclarationError for a level that is not a set of tasks.
    """
    return {level: _find_level_tasks(level, library) for level in levels}


def make_jobs(
    samples: Sequence[SampleFile], plan: SamplePlan, library: Library
) -> tuple[list[EvaluationJob], list[str]]:
    """Return a job for every sample that has a task, and why the others have none.

    A sample is of the task that its provenance names, else of the one at its problem's place. A
    name that is unknown is a fault of the sample. Raise DeclarationError if no sample has a task.
    """
    tasks: dict[str, list[Entry]] = {}
    faults: dict[str, None] = {}
    for level in dict.fromkeys(each.level for each in samples):
        try:
            tasks[level] = _find_level_tasks(level, library)
        except DeclarationError as error:
            faults[str(error)] = None
    jobs = []
    for each in samples:
        if each.level not in tasks:
            continue
        try:
            sample, entry = _match_entry(each, tasks[each.level])
        except DeclarationError as error:
            faults[str(error)] = None
            continue
        place = SamplePlace(plan.id, sample.level, sample.problem, sample.number, sample.hash())
        jobs.append(EvaluationJob(sample, entry, place))
    if faults and not jobs:
        raise DeclarationError("; ".join([*faults][:MOST_FAULTS]))
    return jobs, list(faults)


def select_remaining(
    jobs: Sequence[EvaluationJob],
    known: Sequence[Evaluation],
    device: DeviceFacts,
    conditions: TrialConditions,
) -> list[EvaluationJob]:
    """Return the jobs without an evaluation of this text, device and conditions."""
    done = {
        (each.place, each.dtype, each.size)
        for each in known
        if (each.device_kind, each.device_name) == (device.kind, device.name)
        and conditions.decides(each)
    }
    return [each for each in jobs if _key(each, device, conditions) not in done]


def select_evaluated(
    jobs: Sequence[EvaluationJob],
    known: Sequence[Evaluation],
    device: DeviceFacts,
    conditions: TrialConditions,
) -> list[Evaluation]:
    """Return the evaluations of the jobs on this device under these conditions, in their order."""
    found = {
        (each.place, each.dtype, each.size): each
        for each in known
        if (each.device_kind, each.device_name) == (device.kind, device.name)
    }
    keys = (_key(each, device, conditions) for each in jobs)
    return [found[key] for key in keys if key in found]


def _key(
    job: EvaluationJob, device: DeviceFacts, conditions: TrialConditions
) -> tuple[SamplePlace, str, str]:
    return job.place, conditions.dtype, _resolve_size(job.entry, device, conditions)


def make_trial(job: EvaluationJob, conditions: TrialConditions, device: DeviceFacts) -> Trial:
    """Return the trial on `device`, with the defaults that the sample declares for it.

    Raise UnusableSample for a sample that is not a kernel.
    """
    try:
        data = job.sample.read()
    except DeclarationError as error:
        outcome = (
            GenerationOutcome.FORBIDDEN if job.sample.is_outside else GenerationOutcome.NO_TEXT
        )
        raise UnusableSample(outcome, str(error)) from None
    text = decode_text(data)
    kernel = parse_sample(text, job.entry.name, job.sample.path.name, job.sample.ending)
    return _make_trial(job, kernel.on(device_names(device)), conditions)


def make_unusable_result(
    job: EvaluationJob, conditions: TrialConditions, device: DeviceFacts, reason: UnusableSample
) -> Result:
    """Return the failed result, with its text, of a sample that is not a kernel."""
    try:
        text = job.sample.read().decode("utf-8", "replace").replace("\0", "\ufffd")
    except DeclarationError:
        text = ""
    empty = Kernel(job.entry.name, Path(job.sample.path.name), "", None, "", dispatches=())
    case = describe_case(_make_trial(job, empty, conditions), job.entry.task, device)
    source_hash = hashlib.sha256(text.encode()).hexdigest()
    return Result(
        case=replace(case, source=text, source_hash=source_hash),
        device=device,
        status=Status.FAILED,
        failures=(Failure(Stage.COMPILE.value, reason.outcome.name, str(reason)),),
    )


def classify_result(result: Result, measured: tuple[float | None, float | None]) -> SampleOutcome:
    """The class of a sample that was tried, which its first failure tells."""
    if result.status is Status.CORRECT:
        return SampleOutcome(GenerationOutcome.CORRECT.value, "", *measured)
    first = result.failures[0]
    message = first.message.replace(f"{NOWHERE}/", "")
    return SampleOutcome(classify_failure(first).value, message, *measured)


def _match_entry(sample: SampleFile, tasks: Sequence[Entry]) -> tuple[SampleFile, Entry]:
    """The sample and its task; raise DeclarationError for a number that is of no problem."""
    by_name: Mapping[str, Entry] = {each.name: each for each in tasks}
    if sample.task in by_name:
        return sample, by_name[sample.task]
    if sample.task and not sample.fault:
        hint = suggestion(sample.task, by_name)
        fault = f"{sample.name}: {sample.level} has no {sample.task!r}; {hint}"
        sample = replace(sample, fault=fault)
    if not 1 <= sample.problem <= len(tasks):
        raise DeclarationError(
            f"{sample.name}: expected problem 1 to {len(tasks)} of {get_set_name(sample.level)}, "
            f"got {sample.problem}"
        )
    return sample, tasks[sample.problem - 1]


def _make_trial(job: EvaluationJob, kernel: Kernel, conditions: TrialConditions) -> Trial:
    return Trial(
        job.entry,
        kernel,
        conditions.dtype,
        conditions.size,
        seed=conditions.seed,
        plan=conditions.sampling,
        oracle=conditions.oracle,
        timed=conditions.timed,
        unconfined=conditions.unconfined,
    )


def _resolve_size(entry: Entry, device: DeviceFacts, conditions: TrialConditions) -> str:
    return conditions.size or entry.task.headline_on(device)
