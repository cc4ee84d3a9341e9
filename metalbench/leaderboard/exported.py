"""A measured kernel as a file that others can run: source, samples, machine, and hashes of it all.

JSON, one object with the fields of `Exported`; `sha256` is of the others, as `digest` makes it.
Nothing of it is run but the kernel's source, as any candidate is. Reading is strict: a field that
is missing, unknown, of another type or out of its range is an error that names it.
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
from metalbench.leaderboard.source import header_of, kernel_of
from metalbench.stats import Interval
from metalbench.store import Place, Store

SCHEMA = 1
MOST_BYTES = 16 * 2**20
TASK = re.compile(r"[A-Za-z]\w{0,99}")
KERNEL = re.compile(r"\w[\w.-]{0,120}\.metal")
HASH = re.compile(r"[0-9a-f]{64}")
# All headers stand in place of their `#include`; one that is left would be of the reader's machine.
INCLUDE = re.compile(r"^\s*#\s*(?:include|include_next|import|embed)\b(.*)", re.MULTILINE)
OF_METAL = re.compile(r"\s*<metal_?\w*>\s*(//.*)?")


@dataclass(frozen=True)
class Span:
    """An interval; its ends are null where the samples carried none."""

    value: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, interval: Interval | None) -> Span | None:
        """The same as JSON can hold it."""
        if interval is None:
            return None
        known = interval.is_bounded
        return cls(
            interval.value, interval.low if known else None, interval.high if known else None
        )

    @property
    def interval(self) -> Interval:
        """The interval again."""
        low = -math.inf if self.low is None else self.low
        return Interval(self.value, low, math.inf if self.high is None else self.high)


@dataclass(frozen=True)
class Machine:
    """The device and the software that a kernel was measured with."""

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
class Exported:
    """One result: what was run, where, and what came out; times in ns.

    `samples` are by series, as in `Store.samples`; null where a clock did not tell one.
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
    def place(self) -> Place:
        """Of what it is a result."""
        here = self.machine
        return Place(
            *(here.kind, here.name, here.chip, here.cores, here.engine),
            *(self.task, self.dtype, self.size, tuple(sorted(self.sizes.items()))),
        )

    @property
    def digest(self) -> str:
        """SHA-256 of everything else, as JSON with sorted names and no blanks."""
        rest = {name: value for name, value in asdict(self).items() if name != "sha256"}
        text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def text(self) -> str:
        """The file's text."""
        return json.dumps(asdict(self), indent=1) + "\n"


def exported(store: Store, result: int, source: str, own: str) -> Exported:
    """Result number `result`, which is kept with all its samples, ready to be written.

    `source` is the kernel with its headers in place, `own` the text of its file.
    """
    entry, place, here = store.result(result), store.place_of(result), store.environment_of(result)
    kernel_ns = Span.of(entry.kernel_ns)
    if kernel_ns is None:
        raise DeclarationError(f"[{entry.task}] result {result} is {entry.status}: it has no time")
    made = Exported(
        schema=SCHEMA,
        task=entry.task,
        dtype=entry.dtype,
        size=entry.size,
        sizes=dict(entry.sizes),
        kernel=entry.kernel,
        header=header_of(own),
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


def read_exported(path: Path) -> Exported:
    """Read what `metalbench certify` wrote; raises DeclarationError for anything else."""
    try:
        plain = read_json(path, most_bytes=MOST_BYTES).raw
        if not isinstance(plain, dict) or plain.get("schema") != SCHEMA:
            got = plain.get("schema") if isinstance(plain, dict) else type(plain).__name__
            raise EncodingError(f"expected schema {SCHEMA}, got {got!r}")
        found: Exported = make_codec(Exported).decode(plain, ArrayBytes(b""), "record")
        fault = next(_faults(found), None)
        if fault is not None:
            raise EncodingError(fault)
        # Its header is read as that of any kernel is.
        kernel_of(found.task, found.kernel, found.header, found.source)
    except (OSError, ValueError, OverflowError, RecursionError) as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise DeclarationError(
            f"{path}: expected a file of `metalbench certify`; {reason}"
        ) from error
    return found


def _faults(found: Exported) -> Iterator[str]:
    """What no type tells: names that are none, numbers out of their range, hashes that differ."""
    if TASK.fullmatch(found.task) is None:
        yield f"task: expected a name, got {found.task[:60]!r}"
    if KERNEL.fullmatch(found.kernel) is None:
        yield f"kernel: expected the name of a .metal file, got {found.kernel[:60]!r}"
    if not found.sizes or any(not 1 <= each < 2**40 for each in found.sizes.values()):
        yield "sizes: expected extents from 1 on"
    if any(abs(each) >= 2**31 for each in found.tunables.values()):
        yield "tunables: expected values of 32 bits"
    if header_of(found.header) != found.header or not found.source.startswith(found.header):
        yield "header: expected the comments that the source begins with"
    for rest in INCLUDE.findall(found.source):
        if OF_METAL.fullmatch(rest) is None:
            yield f"source: expected no #include but of Metal's, got {rest.strip()[:60]}"
    if hashlib.sha256(found.source.encode("utf-8", "replace")).hexdigest() != found.source_sha256:
        yield "source_sha256: the source is another one"
    yield from _faults_of_numbers(found)
    if HASH.fullmatch(found.sha256) is None or found.sha256 != found.digest:
        yield "sha256: the file was changed after it was written"


def _faults_of_numbers(found: Exported) -> Iterator[str]:
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
