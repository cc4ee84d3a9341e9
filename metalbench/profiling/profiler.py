"""Profile a kernel at one size, dispatch by dispatch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from metalbench import _core
from metalbench.chips import CHIPS, SIMD_WIDTH, TFLOPS_OF_A_CORE, Chip, chip_key
from metalbench.errors import DeclarationError, suggestion
from metalbench.kernel.header import Kernel, TargetDevice, device_names
from metalbench.kernel.library import find_kernel
from metalbench.kernel.memory import COUNTS, Words
from metalbench.kernel.prepare import Bound, Compiled, Geometry, compile_kernel
from metalbench.kernel.standalone import is_kernel_file, read_standalone_kernel
from metalbench.measure.analysis import Occupancy
from metalbench.profiling.counts import (
    TIME_LIMIT,
    TRANSACTION_BYTES,
    Counts,
    DispatchCounts,
    read_counts,
)
from metalbench.sandbox.executors import open_sandboxed_device
from metalbench.task import Task
from metalbench.task.workload import workload

SMALL = "small"
# Limits of a threadgroup on Apple GPUs.
MAX_THREADS = 1024
THREADGROUP_BYTES = 32 << 10


@dataclass(frozen=True)
class Profile:
    """The counts of each dispatch of a kernel, in order, with its occupancy.

    `declared_bytes` is the task's minimum of bytes that move; `source` is the kernel's text.
    """

    kernel: str
    path: str
    size: str
    dtype: str
    dispatches: tuple[DispatchCounts, ...]
    occupancy: tuple[Occupancy, ...]
    declared_bytes: int
    source: str
    # For each dispatch: site, threadgroup, thread and address of its first accesses.
    traces: tuple[Words, ...] = ()
    # For each dispatch: the names of its buffers, by their numbers in traces.
    buffers: tuple[tuple[str, ...], ...] = ()

    @property
    def total(self) -> Counts:
        """The sums of all dispatches."""
        total = Counts()
        for each in self.dispatches:
            total.add(each.total)
        return total

    @property
    def lines(self) -> dict[tuple[str, int], Counts]:
        """The sums by file and line, of all dispatches."""
        lines: dict[tuple[str, int], Counts] = {}
        for each in self.dispatches:
            for place, counts in each.lines.items():
                lines.setdefault((self._file(place[0]), place[1]), Counts()).add(counts)
        return lines

    def _file(self, named: str) -> str:
        """Return a file's path relative to the current folder.

        The compiler may name it relative to the kernel's folder, and cached code may come from the
        same text in another folder.
        """
        path, own = Path(named), Path(self.path)
        if path.name == own.name:
            return self.path
        return str(path if path.exists() else own.parent / path)

    def record(self) -> dict[str, Any]:
        """Return the profile as JSON values."""
        return {
            "kernel": self.kernel,
            "size": self.size,
            "dtype": self.dtype,
            "declared_bytes": self.declared_bytes,
            "dispatches": [
                _record(counts, occupancy)
                for counts, occupancy in zip(self.dispatches, self.occupancy, strict=True)
            ],
        }


def profile(
    kernel: str | Path,
    *,
    size: str | None = None,
    dtype: str | None = None,
    tunables: Mapping[str, int] | None = None,
    buffers: Path | None = None,
    seed: int = 0,
    folders: Sequence[Path] = (),
    include_dirs: Sequence[Path] = (),
    time_limit: float = TIME_LIMIT,
    traced: int = 0,
    target: TargetDevice | None = None,
    task: str | None = None,
    standard: str = "",
) -> Profile:
    """Count a kernel's accesses and operations in its source, independent of the optimiser.

    The kernel runs on the `cpu` device, in a sealed process.

    Parameters
    ----------
    kernel
        NAME of a task of the library or of `folders`; or FILE.metal whose `// buffer:` lines, or
        the arrays in the file `buffers`, declare its arguments; or a kernel of `task` in a file.
    size, dtype, seed
        Of a task: by default `small` and the kernel's first element type.
    tunables, include_dirs
        Values of `// tune:` lines, by default their first ones; folders of includes.
    time_limit
        Seconds for the run.
    traced
        Number of accesses of each dispatch that are recorded individually, from the first.
    target
        Device whose kernel and defaults are counted; by default the kernel for all chips.
    standard
        Version of Metal's language, such as "metal4.0"; by default the kernel's.

    Raises
    ------
    CompileError
        If the kernel does not compile.
    DeclarationError
        If the header lines cannot be read, or arguments do not fit them.
    DispatchError
        If a dispatch cannot be launched.
    KernelFault
        If the kernel fails while it runs.
    TimeLimitExceeded
        If the kernel does not end within `time_limit`.
    """
    text, known, chosen = resolve_subject(
        kernel, size, buffers, folders, target, task=task, standard=standard
    )
    return profile_kernel(
        replace(text, include_dirs=tuple(include_dirs)),
        known,
        chosen,
        dtype=dtype,
        tunables=tunables,
        seed=seed,
        time_limit=time_limit,
        traced=traced,
    )


def profile_kernel(
    kernel: Kernel,
    task: Task,
    size: str,
    *,
    dtype: str | None = None,
    tunables: Mapping[str, int] | None = None,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
    traced: int = 0,
) -> Profile:
    """Profile a kernel that has been read, with its task; arguments as of `profile`."""
    name = dtype or kernel.dtypes[0]
    device = open_sandboxed_device()
    compiled = compile_kernel(
        device,
        kernel,
        task,
        dtype_name=name,
        tunables=tunables,
        counted=True,
        traced=traced,
    )
    bound = compiled.bind(workload(task, size, dtype_name=name, seed=seed))
    device.run(bound.dispatches, time_limit=time_limit)
    return read_profile(compiled, bound)


def read_profile(compiled: Compiled, bound: Bound) -> Profile:
    """Return the profile of a counted build after its run."""
    size = bound.workload.size
    return Profile(
        compiled.kernel.name,
        str(compiled.kernel.path),
        size,
        compiled.dtype.name,
        tuple(read_counts(compiled, bound)),
        tuple(_occupancy(compiled, bound)),
        compiled.task.bytes(size, compiled.dtype.name, in_place=bool(compiled.kernel.inouts)),
        compiled.kernel.source,
        tuple(each.trace.copy() for each in bound.counts),
        tuple(_buffers(compiled.pipelines[each.function], each) for each in bound.geometry),
    )


def _buffers(pipeline: _core.Pipeline, launch: Geometry) -> tuple[str, ...]:
    """Return the array or number of each buffer argument of a launch."""
    buffers = (each.name for each in pipeline.arguments if each.kind == "buffer")
    return tuple(str(launch.find_source(name)) for name in buffers if name != COUNTS)


def resolve_subject(
    kernel: str | Path,
    size: str | None,
    buffers: Path | None,
    folders: Sequence[Path],
    target: TargetDevice | None = None,
    *,
    task: str | None = None,
    standard: str = "",
) -> tuple[Kernel, Task, str]:
    """Return the kernel, its task, and the size of a run. Raise DeclarationError.

    The kernel and its defaults are those for `target`; without it, those for all chips. A file may
    be a kernel of `task`. `standard` is the version of Metal's language, by default the kernel's.
    """
    is_file = is_kernel_file(str(kernel))
    if task is not None and not is_file:
        raise DeclarationError(f"--task: expected a FILE.metal with it, got {kernel}")
    if is_file and task is None:
        bare = read_standalone_kernel(Path(kernel), buffers)
        if size is not None:
            raise DeclarationError(
                f"--size: expected none with {kernel}, whose own lines say how large all is"
            )
        text = bare.kernel.on(device_names(target)) if target is not None else bare.kernel
        return replace(text, standard=standard or text.standard), bare.task, bare.size
    if buffers is not None:
        raise DeclarationError(
            f"--buffers: expected a file without a task such as {kernel}.metal, got {kernel!r}, "
            "whose task draws the inputs"
        )
    found, known = find_kernel(kernel, task, folders, device=target, standard=standard)
    chosen = size or (SMALL if SMALL in known.sizes else next(iter(known.sizes)))
    known.check_size(chosen)
    return found, known, chosen


def _occupancy(compiled: Compiled, bound: Bound) -> Iterator[Occupancy]:
    for geometry in bound.geometry:
        pipeline = compiled.pipelines[geometry.function]
        x, y, z = (*geometry.threads, 1, 1)[:3]
        across, down, deep = (*geometry.grid, 1, 1)[:3]
        if geometry.in_threads:
            across, down, deep = -(-across // x), -(-down // y), -(-deep // z)
        shared = pipeline.threadgroup_bytes + sum(geometry.threadgroup_bytes.values())
        yield Occupancy(
            geometry.function,
            (across, down, deep),
            (x, y, z),
            min(MAX_THREADS, pipeline.max_threads),
            shared,
            THREADGROUP_BYTES,
            SIMD_WIDTH,
        )


def _record(counts: DispatchCounts, occupancy: Occupancy) -> dict[str, Any]:
    found = {
        name: value
        for name, value in vars(counts).items()
        if name not in ("function", "geometry", "total", "lines")
    }
    return {
        "function": counts.function,
        "threads": occupancy.threads,
        "threadgroups": occupancy.threadgroups,
        "threadgroup_bytes": occupancy.threadgroup_bytes,
        "counts": {**asdict(counts.total), **found},
        "lines": [
            {"file": file, "line": line, **{k: v for k, v in asdict(of_line).items() if v}}
            for (file, line), of_line in sorted(counts.lines.items())
        ],
    }


# Estimate the time of counted work on an Apple GPU, from published figures, uncalibrated.
#
# No Mac has confirmed it. As in a roofline (Williams, Waterman, Patterson, CACM 52, 2009) the
# slowest resource decides. For memory there are two bounds: perfect caches, and no caches.

# The cost of a division or a special function, in additions.
SPECIAL_COST = 4


@dataclass(frozen=True)
class Estimate:
    """The lower and the upper bound of the time in s, and the bounding resource of each.

    `assumptions` are sentences that every report must print with the numbers.
    """

    chip: Chip
    least_s: float
    most_s: float
    least_bound: str
    most_bound: str
    assumptions: tuple[str, ...]


def find_chip(name: str) -> Chip:
    """Return a chip by a name such as `m4` or `m4_max`; raises DeclarationError."""
    chip = CHIPS.get(chip_key(name))
    if chip is None:
        raise DeclarationError(f"--chip: unknown chip {name!r}; {suggestion(name, CHIPS)}")
    return chip


def estimate_time(profile: Profile, chip: Chip) -> Estimate:
    """Estimate the time of a profiled kernel on a chip with all of its cores."""
    least, most = 0.0, 0.0
    bounds: list[dict[str, float]] = [{}, {}]
    for counts, occupancy in zip(profile.dispatches, profile.occupancy, strict=True):
        across, down, deep = occupancy.threadgroups
        share = min(1.0, across * down * deep / chip.cores)
        arithmetic = _operations(counts.total) / (chip.flops_per_s * share)
        unique = counts.unique_bytes_read + counts.unique_bytes_written
        moved = counts.total.device_transactions * TRANSACTION_BYTES
        bandwidth = 1e9 * chip.bandwidths[chip.cores]
        for end, size in zip(bounds, (unique, moved), strict=True):
            memory = size / bandwidth
            bound = "memory" if memory >= arithmetic else "arithmetic"
            end[bound] = end.get(bound, 0.0) + max(memory, arithmetic)
        least += max(unique / bandwidth, arithmetic)
        most += max(moved / bandwidth, arithmetic)
    first, second = (max(end, key=lambda each: end[each], default="memory") for end in bounds)
    return Estimate(chip, least, most, first, second, _assumptions(chip))


def _operations(counts: Counts) -> int:
    dear = counts.float_divide + counts.float_special + counts.integer_divide
    cheap = counts.flops - counts.float_divide - counts.float_special
    return cheap + counts.float_compare + counts.integer + SPECIAL_COST * dear


def _assumptions(chip: Chip) -> tuple[str, ...]:
    rate = (
        f"{chip.tflops:g} TFLOP/s ({chip.source})"
        if chip.tflops is not None
        else f"{chip.flops_per_s / 1e12:.3g} TFLOP/s, as Apple has published no rate: "
        f"{TFLOPS_OF_A_CORE:g} a core, that of the M2"
    )
    return (
        f"{chip.name} with {chip.cores} GPU cores, {chip.bandwidths[chip.cores]:g} GB/s "
        f"({chip.source}), {rate}.",
        "Least: caches keep every byte that was read once. Most: every transaction of 128 bytes "
        "goes to memory.",
        "Integer operations and comparisons take as long as additions, divisions and special "
        f"functions {SPECIAL_COST} times as long; those of the source, before any optimisation.",
        "Fewer threadgroups than cores leave cores idle. Launches, latency, bank conflicts and "
        "atomics that wait are not in it.",
    )
