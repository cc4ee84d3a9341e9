"""A measured kernel as a file for other machines: source, samples, machine, and their hashes.

JSON, one object with the fields of `ExportedRecord`; `sha256` is the `digest` of the other fields.
Only the kernel's source is executed, as any candidate. Reading is strict: a field that is missing,
unknown, of another type or out of its range is an error with its name.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from metalbench import verify
from metalbench.compare.head_to_head import Contest
from metalbench.compare.leaderboard import (
    PAIRING_S,
    RECORD,
    Decision,
    Ruling,
    Site,
    choose_site,
    extract_header,
    pair,
    restore_kernel,
    submit,
)
from metalbench.errors import DeclarationError
from metalbench.json_files import read_json
from metalbench.kernel.header import TargetDevice
from metalbench.kernel.library import Library
from metalbench.measure.measurement import Plan
from metalbench.run.runner import Attempts
from metalbench.run.runner import run as run_trials
from metalbench.run.trial import Observer, Trial, device_facts
from metalbench.stats import Interval, Verdict
from metalbench.stats.unpaired import UNREPEATED, assess_unpaired
from metalbench.store.environment import Environment, engine_on, environment
from metalbench.store.history import HistoryEntry
from metalbench.store.records import RecordPlace
from metalbench.store.result import DeviceFacts
from metalbench.store.store import Store

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.kernel.header import Kernel
    from metalbench.kernel.library import Entry


SCHEMA: Final = 1
MOST_BYTES = 16 * 2**20
TaskName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z]\w{0,99}\Z")]
KernelName = Annotated[str, msgspec.Meta(pattern=r"^\w[\w.-]{0,120}\.metal\Z")]
WarmMode = Annotated[str, msgspec.Meta(pattern=r"^warm\Z")]
Hash = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Extents = Annotated[
    Mapping[str, Annotated[int, msgspec.Meta(ge=1, lt=2**40)]], msgspec.Meta(min_length=1)
]
Tunables = Mapping[str, Annotated[int, msgspec.Meta(gt=-(2**31), lt=2**31)]]
# All headers are expanded; a remaining `#include` would read a file of the other machine.
INCLUDE = re.compile(r"^\s*#\s*(?:include|include_next|import|embed)\b(.*)", re.MULTILINE)
OF_METAL = re.compile(r"\s*<metal_?\w*>\s*(//.*)?")


class Span(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An interval; its ends are null if the samples are too few."""

    value: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, interval: Interval | None) -> Span | None:
        """Return an interval in a form for JSON."""
        if interval is None:
            return None
        known = interval.is_bounded
        return cls(
            interval.value, interval.low if known else None, interval.high if known else None
        )

    @property
    def interval(self) -> Interval:
        """The interval."""
        low = -math.inf if self.low is None else self.low
        return Interval(self.value, low, math.inf if self.high is None else self.high)


class CertifiedMachine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The device and the software of a measurement."""

    kind: str
    name: str
    chip: str | None
    cores: int
    engine: str
    os: str
    cpu: str
    mlx: str | None
    versions: Mapping[str, str]


class ExportedRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One result: kernel, machine and measurement; times in ns.

    `samples` are by series, as in `Store.samples`; null for windows without a time of that clock.
    """

    schema: Literal[1]
    task: TaskName
    dtype: str
    size: str
    sizes: Extents
    kernel: KernelName
    header: str
    source: str
    source_sha256: Hash
    tunables: Tunables
    machine: CertifiedMachine
    mode: WarmMode
    clock: str | None
    form: str | None
    verdict: str | None
    kernel_ns: Span
    gpu_ns: Span | None
    reference_ns: Span | None
    ratio: Span | None
    samples: Mapping[str, tuple[float | None, ...]]
    measured_at: str
    sha256: str = ""

    @property
    def place(self) -> RecordPlace:
        """The place of the record."""
        here = self.machine
        return RecordPlace(
            *(here.kind, here.name, here.chip, here.cores, here.engine),
            *(self.task, self.dtype, self.size, tuple(sorted(self.sizes.items()))),
        )

    @property
    def digest(self) -> str:
        """SHA-256 of all other fields, as JSON with sorted names and without blanks."""
        rest = msgspec.to_builtins(self)
        del rest["sha256"]
        text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def text(self) -> str:
        """The file's text."""
        return json.dumps(msgspec.to_builtins(self), indent=1) + "\n"


def export_result(store: Store, result: int, source: str, own: str) -> ExportedRecord:
    """Return stored result number `result` with all its samples, ready to be written.

    `source` is the kernel with expanded headers, `own` the text of its file.
    """
    entry, place, here = store.result(result), store.place_of(result), store.environment_of(result)
    kernel_ns = Span.of(entry.kernel_ns)
    if kernel_ns is None:
        raise DeclarationError(f"[{entry.task}] result {result} is {entry.status}: it has no time")
    made = ExportedRecord(
        schema=SCHEMA,
        task=entry.task,
        dtype=entry.dtype,
        size=entry.size,
        sizes=dict(entry.sizes),
        kernel=entry.kernel,
        header=extract_header(own),
        source=source,
        source_sha256=entry.source_hash,
        tunables=dict(entry.tunables),
        machine=CertifiedMachine(
            *(place.device_kind, place.device_name, place.device_chip, place.device_cores),
            *(place.engine, str(here.get("os", "")), str(here.get("cpu", "")), entry.mlx),
            dict(here.get("versions", {})),
        ),
        mode=entry.mode,
        clock=entry.clock,
        form=entry.form,
        verdict=entry.verdict,
        kernel_ns=kernel_ns,
        gpu_ns=Span.of(entry.gpu_ns),
        reference_ns=Span.of(entry.reference_ns),
        ratio=Span.of(entry.ratio),
        samples={
            name: tuple(float(value) if math.isfinite(value) else None for value in values)
            for name, values in store.samples(result).items()
        },
        measured_at=entry.recorded_at,
    )
    return msgspec.structs.replace(made, sha256=made.digest)


def read_exported(path: Path) -> ExportedRecord:
    """Read a file of `metalbench certify`; raises DeclarationError for any other file."""
    form = "a file of `metalbench certify`"
    found = read_json(path, ExportedRecord, form=form, most_bytes=MOST_BYTES)
    try:
        for fault in _faults(found):
            raise ValueError(fault)
        # Raises for an invalid header.
        restore_kernel(found.task, found.kernel, found.header, found.source)
    except (OSError, ValueError, OverflowError, RecursionError) as error:
        raise DeclarationError(f"{path}: expected {form}; {error}") from error
    return found


def _faults(found: ExportedRecord) -> Iterator[str]:
    """Yield faults that types do not exclude: other source, impossible times, other hashes."""
    if extract_header(found.header) != found.header or not found.source.startswith(found.header):
        yield "header: expected the comments that the source begins with"
    for rest in INCLUDE.findall(found.source):
        if OF_METAL.fullmatch(rest) is None:
            yield f"source: expected no #include but of Metal's, got {rest.strip()[:60]}"
    if hashlib.sha256(found.source.encode("utf-8", "replace")).hexdigest() != found.source_sha256:
        yield "source_sha256: the source is another one"
    yield from _faults_of_numbers(found)
    if found.sha256 != found.digest:
        yield "sha256: the file was changed after it was written"


def _faults_of_numbers(found: ExportedRecord) -> Iterator[str]:
    for name in found.__struct_fields__:
        span = getattr(found, name)
        if not isinstance(span, Span):
            continue
        interval = span.interval
        if not (0 < interval.value < math.inf and interval.low <= interval.value <= interval.high):
            yield f"{name}: expected low <= value <= high, above 0"
    kernel, reference = found.samples.get("kernel", ()), found.samples.get("reference", ())
    if not kernel or any(each is None or each <= 0 for each in kernel):
        yield "samples: expected times above 0 of the kernel"
    if reference and len(reference) != len(kernel):
        yield "samples: expected as many of the reference as of the kernel"


# Certify a kernel: a fresh measurement against the record or the library's kernel.

ORIGIN = "certify"


@dataclass(frozen=True)
class Certificate:
    """The measurement of a kernel and its opponent; `record` is the file, None if it is incorrect.

    `against` is the name of the kernel that it was compared with in pairs, if any. `verdict` and
    `gains` (the other's time over this one's) are of that comparison.
    """

    trial: Trial
    entry: HistoryEntry
    ruling: Ruling
    record: ExportedRecord | None
    against: str = ""
    verdict: Verdict | None = None
    gains: tuple[Interval, ...] = ()

    @property
    def is_correct(self) -> bool:
        """Whether the kernel is correct."""
        return self.entry.status == "correct"


def certify(
    device: Device | DeviceFacts,
    store: Store,
    trial: Trial,
    *,
    observer: Observer,
    attempts: AbstractContextManager[Attempts] | None = None,
    site: Site | None = None,
    here: Environment | None = None,
    plan: Plan | None = None,
    progress: Callable[[float], None] | None = None,
) -> Certificate:
    """Measure a kernel against the record, or without a record against the library's version.

    It becomes the record if it qualifies. Raises as `metalbench.compare.submit`.
    """
    ruling = submit(
        device,
        store,
        trial,
        origin=ORIGIN,
        observer=observer,
        attempts=attempts,
        site=site,
        here=here,
        plan=plan,
        progress=progress,
    )
    entry = store.result(ruling.result)
    record = None
    if entry.status == "correct":
        record = export_result(store, entry.id, trial.kernel.text, trial.kernel.source)
    made = Certificate(trial, entry, ruling, record)
    if ruling.gains:
        return replace(made, against=RECORD, verdict=ruling.verdict, gains=ruling.gains)
    own = _own_version(trial, device) if made.is_correct else None
    if own is None or ruling.decision is not Decision.FIRST:
        return made
    contest = _contest(made, own, plan or Plan(seconds=PAIRING_S))
    found = pair(choose_site(device, trial, site), contest, progress)
    return replace(made, against=contest.names[0], verdict=found.verdict, gains=found.gains)


def _contest(made: Certificate, own: Kernel, plan: Plan) -> Contest:
    """Return the contest of the library's version with the certified kernel."""
    trial = made.trial
    return Contest(
        trial.entry.task,
        own,
        trial.kernel,
        names=("the library's own version", "this one"),
        dtype=made.entry.dtype,
        size=made.entry.size,
        plan=replace(plan, seed=trial.seed),
        tunables=({}, dict(trial.tunables)),
        also_sizes=tuple(verify.small_sizes(trial.entry.task)),
    )


def _own_version(trial: Trial, device: TargetDevice) -> Kernel | None:
    """Return the library's kernel for the task and type, if it has a different one."""
    try:
        own = Library().entry(trial.entry.name).kernel(device, dtype=trial.dtype)
    except DeclarationError:
        return None
    return own if own.hash != trial.kernel.hash and trial.dtype in own.dtypes else None


# Reproduce a published result on this machine.
#
# It is reproduced if the kernel is correct here and not slower, relative to MLX, than claimed,
# within a tolerance: the whole interval of `here / claimed` must lie above `1 - within`. A wide
# interval reproduces nothing.

WITHIN = 0.1


class ReproductionVerdict(str, Enum):
    """The verdict of a reproduction."""

    REPRODUCED = "REPRODUCED"
    NOT_REPRODUCED = "NOT REPRODUCED"
    NOT_COMPARABLE = "NOT COMPARABLE"


@dataclass(frozen=True)
class Reproduction:
    """The verdict with its reason; `relative` is the claim over the result here, if it was run.

    Above 1 the kernel does better here. `here` and `claimed` are ratios to MLX, or times in ns
    without a ratio (`by_time`).
    """

    word: ReproductionVerdict
    why: str
    relative: Interval | None = None
    here: Interval | None = None
    claimed: Interval | None = None
    by_time: bool = False


def list_obstacles(
    found: ExportedRecord, device: Device, here: Environment, entry: Entry | None
) -> Iterator[str]:
    """Yield the reasons why a result is not comparable with one of this machine."""
    facts, there = device_facts(device), found.machine
    pairs = (
        ("device", (there.kind, there.name), (facts.kind, facts.name)),
        ("number of cores", (str(there.cores),), (str(facts.cores),)),
        ("chip", (str(there.chip),), (str(facts.chip),)),
        ("engine", (there.engine,), (engine_on(facts.kind),)),
        ("version of MLX", (str(there.mlx),), (str(here.versions.get("mlx")),)),
    )
    for what, theirs, ours in pairs:
        if theirs != ours:
            yield f"another {what}: {' '.join(theirs)} there, {' '.join(ours)} here"
    if entry is None:
        yield f"no task {found.task!r} here; name its folder with --kernels"
        return
    try:
        extents = dict(entry.task.extents(found.size))
        entry.task.check_dtype(found.dtype)
    except DeclarationError as error:
        yield f"another task: {error}"
        return
    if extents != dict(found.sizes):
        yield f"another task: {found.size} is {found.sizes} there, {extents} here"


def build_trial(found: ExportedRecord, entry: Entry, plan: Plan, seed: int = 0) -> Trial:
    """Return the trial of an exported kernel; raises DeclarationError if its header is wrong."""
    kernel = restore_kernel(found.task, found.kernel, found.header, found.source)
    known = {name: value for name, value in found.tunables.items() if name in kernel.tunables}
    return Trial(entry, kernel, found.dtype, found.size, seed, plan, known)


def reproduce(
    device: Device,
    store: Store,
    found: ExportedRecord,
    trial: Trial,
    *,
    observer: Observer,
    attempts: AbstractContextManager[Attempts] | None = None,
    within: float = WITHIN,
) -> Reproduction:
    """Run an exported kernel, store its result, and judge the claim by it.

    Raises
    ------
    DeclarationError
        If it cannot be run here.
    KeyboardInterrupt
        If it was interrupted.
    """
    outcome = run_trials(
        device,
        [trial],
        store,
        environment(),
        observer,
        recorded_options={"origin": "reproduce", "names": [found.task], "sha256": found.sha256},
        attempts=attempts,
    )
    if outcome.ended == "interrupted":
        raise KeyboardInterrupt
    if outcome.untried or outcome.number is None:
        raise DeclarationError("; ".join(outcome.untried))
    (entry,) = store.results(outcome.number)
    if entry.status != "correct":
        said = "; ".join(each.message for each in outcome.results[0].failures)
        return Reproduction(
            ReproductionVerdict.NOT_REPRODUCED, f"here the kernel {_fate(entry)}: {said}"
        )
    return judge_claim(found, entry, within)


def _fate(entry: HistoryEntry) -> str:
    return "has failed" if entry.status == "failed" else "is incorrect"


def judge_claim(found: ExportedRecord, entry: HistoryEntry, within: float) -> Reproduction:
    """Judge a claim by a correct result of this machine."""
    if found.clock != entry.clock:
        why = f"another clock: {found.clock} there, {entry.clock} here"
        return Reproduction(ReproductionVerdict.NOT_COMPARABLE, why)
    by_time = found.ratio is None or entry.ratio is None
    if by_time:
        assert entry.kernel_ns is not None
        here, claimed = entry.gpu_ns or entry.kernel_ns, (found.gpu_ns or found.kernel_ns).interval
        relative = assess_unpaired(claimed, here, between=UNREPEATED).ratio
    else:
        assert found.ratio is not None
        assert entry.ratio is not None
        here, claimed = entry.ratio, found.ratio.interval
        relative = assess_unpaired(here, claimed, between=UNREPEATED).ratio
    least = 1.0 - within
    if relative.is_bounded and relative.low >= least:
        word, why = ReproductionVerdict.REPRODUCED, f"no more than {within:.0%} behind the claim"
    elif relative.is_bounded and relative.high < least:
        word, why = ReproductionVerdict.NOT_REPRODUCED, f"more than {within:.0%} behind the claim"
    else:
        word = ReproductionVerdict.NOT_REPRODUCED
        why = (
            f"the interval does not exclude more than {within:.0%} behind the claim; measure longer"
        )
    return Reproduction(word, why, relative, here, claimed, by_time)
