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
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from metalbench.errors import DeclarationError, EncodingError
from metalbench.foreign_json import read_json
from metalbench.isolation.encoding.compounds import make_codec
from metalbench.isolation.encoding.shape import ArrayBytes
from metalbench.leaderboard.source import extract_header, restore_kernel
from metalbench.stats import Interval
from metalbench.store import RecordPlace, Store

SCHEMA = 1
MOST_BYTES = 16 * 2**20
TASK = re.compile(r"[A-Za-z]\w{0,99}")
KERNEL = re.compile(r"\w[\w.-]{0,120}\.metal")
HASH = re.compile(r"[0-9a-f]{64}")
# All headers are expanded; a remaining `#include` would read a file of the other machine.
INCLUDE = re.compile(r"^\s*#\s*(?:include|include_next|import|embed)\b(.*)", re.MULTILINE)
OF_METAL = re.compile(r"\s*<metal_?\w*>\s*(//.*)?")


@dataclass(frozen=True)
class Span:
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


@dataclass(frozen=True)
class Machine:
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


@dataclass(frozen=True)
class ExportedRecord:
    """One result: kernel, machine and measurement; times in ns.

    `samples` are by series, as in `Store.samples`; null for windows without a time of that clock.
    """

    schema: int
    task: str
    dtype: str
    size: str
    sizes: Mapping[str, int]
    kernel: str
    header: str
    source: str
    source_sha256: str
    tunables: Mapping[str, int]
    machine: Machine
    mode: str
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
        rest = {name: value for name, value in asdict(self).items() if name != "sha256"}
        text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def text(self) -> str:
        """The file's text."""
        return json.dumps(asdict(self), indent=1) + "\n"


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
        machine=Machine(
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
    return replace(made, sha256=made.digest)


def read_exported(path: Path) -> ExportedRecord:
    """Read a file of `metalbench certify`; raises DeclarationError for any other file."""
    try:
        plain = read_json(path, most_bytes=MOST_BYTES).raw
        if not isinstance(plain, dict) or plain.get("schema") != SCHEMA:
            got = plain.get("schema") if isinstance(plain, dict) else type(plain).__name__
            raise EncodingError(f"expected schema {SCHEMA}, got {got!r}")
        found: ExportedRecord = make_codec(ExportedRecord).decode(plain, ArrayBytes(b""), "record")
        fault = next(_faults(found), None)
        if fault is not None:
            raise EncodingError(fault)
        # Raises for an invalid header.
        restore_kernel(found.task, found.kernel, found.header, found.source)
    except (OSError, ValueError, OverflowError, RecursionError) as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise DeclarationError(
            f"{path}: expected a file of `metalbench certify`; {reason}"
        ) from error
    return found


def _faults(found: ExportedRecord) -> Iterator[str]:
    """Yield faults that types do not exclude: bad names, numbers out of range, different hashes."""
    if TASK.fullmatch(found.task) is None:
        yield f"task: expected a name, got {found.task[:60]!r}"
    if KERNEL.fullmatch(found.kernel) is None:
        yield f"kernel: expected the name of a .metal file, got {found.kernel[:60]!r}"
    if not found.sizes or any(not 1 <= each < 2**40 for each in found.sizes.values()):
        yield "sizes: expected extents from 1 on"
    if any(abs(each) >= 2**31 for each in found.tunables.values()):
        yield "tunables: expected values of 32 bits"
    if extract_header(found.header) != found.header or not found.source.startswith(found.header):
        yield "header: expected the comments that the source begins with"
    for rest in INCLUDE.findall(found.source):
        if OF_METAL.fullmatch(rest) is None:
            yield f"source: expected no #include but of Metal's, got {rest.strip()[:60]}"
    if hashlib.sha256(found.source.encode("utf-8", "replace")).hexdigest() != found.source_sha256:
        yield "source_sha256: the source is another one"
    yield from _faults_of_numbers(found)
    if HASH.fullmatch(found.sha256) is None or found.sha256 != found.digest:
        yield "sha256: the file was changed after it was written"


def _faults_of_numbers(found: ExportedRecord) -> Iterator[str]:
    for field in fields(found):
        span = getattr(found, field.name)
        if not isinstance(span, Span):
            continue
        interval = span.interval
        if not (0 < interval.value < math.inf and interval.low <= interval.value <= interval.high):
            yield f"{field.name}: expected low <= value <= high, above 0"
    kernel, reference = found.samples.get("kernel", ()), found.samples.get("reference", ())
    if not kernel or any(each is None or each <= 0 for each in kernel):
        yield "samples: expected times above 0 of the kernel"
    if reference and len(reference) != len(kernel):
        yield "samples: expected as many of the reference as of the kernel"
    if found.mode != "warm":
        yield f"mode: expected warm, got {found.mode!r}"
