"""Run checked builds, which report bounds, races and uninitialised reads.

Every attempt checks small sizes. A checked run of the timed size is slow, so it is made once for
each source, and the build cache stores its result.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter

from metalbench import _core, build_cache
from metalbench.errors import (
    CompileError,
    DispatchError,
    MachineError,
    MetalBenchError,
    TimeLimitExceeded,
    Unsupported,
)
from metalbench.finding_kinds import Kind
from metalbench.kernel.header import Kernel
from metalbench.kernel.prepare import Bound, Builds, Compiled
from metalbench.kernel.source_files import library_folder
from metalbench.msl.toolchain.clang import find_toolchain
from metalbench.profiling.counts import Counts, read_counts
from metalbench.task.workload import workload
from metalbench.verify.examine import Examiner
from metalbench.verify.flow import TIME_LIMIT, Progress, ignore_progress, small_sizes
from metalbench.verify.report import Report, make_finding

# Errors of the cpu device that say nothing about a kernel of another device: they state a limit of
# the simulation.
BEYOND_SIMULATION = (CompileError, DispatchError, Unsupported)
# Time limits for the timed size, and for the random size of each run. Threadgroups that have not
# run by then are not checked, and the report says so.
SECONDS, SECONDS_RANDOM = 10.0, 3.0
# Shadow memory of a checked run per byte of the kernel's memory, and the most that it may take.
SHADOW_BYTES_PER_BYTE = 8
MOST_BYTES = 2 << 30


def verify_checked(
    builds: Builds,
    *,
    sizes: Sequence[str] | None = None,
    seed: int = 0,
    time_limit: float = 6 * TIME_LIMIT,
    progress: Progress = ignore_progress,
) -> Report:
    """Run the checked build at `sizes`, by default the small ones, up to the first finding.

    The `cpu` device checks kernels of devices that cannot make checked builds. Limits of that
    simulation are not findings; they are in the report's `skipped`. A kernel that exceeds
    `time_limit` (s) is a finding: on a GPU it would stop the display.
    """
    built = _build_checked(builds)
    if isinstance(built, Report):
        return built
    for size in sizes if sizes is not None else small_sizes(builds.task):
        progress(f"{size}, checked")
        try:
            _run(built, size, seed, time_limit)
        except MachineError:
            raise
        except MetalBenchError as error:
            return _report_failed_check(builds, error, size, seed)
    return Report()


def verify_checked_as_timed(
    builds: Builds,
    *,
    size: str,
    random_size: str | None = None,
    seed: int = 0,
    seconds: float = SECONDS,
    progress: Progress = ignore_progress,
) -> Report:
    """Run the checked build at the timed `size`, once for each source, and at `random_size`.

    Small sizes are skipped: `verify_checked` runs them. After `seconds` the run ends with a random
    part of the threadgroups checked, and the report's `skipped` says so.
    """
    built = _build_checked(builds)
    if isinstance(built, Report):
        return built
    record = _CheckRecord(built, size)
    notes = [record.load_note()]
    for each, limit in ((size, seconds), (random_size, min(seconds, SECONDS_RANDOM))):
        is_known = each == size and notes[0] is not None
        if each is None or each in small_sizes(builds.task) or is_known:
            continue
        progress(f"{each}, checked")
        try:
            notes.append(_run_within(built, each, seed, limit))
        except MachineError:
            raise
        except MetalBenchError as error:
            return _report_failed_check(builds, error, each, seed)
        if each == size:
            record.store_note(notes[-1] or "")
    return Report(skipped=tuple(note for note in notes if note))


def _build_checked(builds: Builds) -> Compiled | Report:
    try:
        return builds.checked
    except MachineError:
        raise
    except MetalBenchError as error:
        return _report_failed_check(builds, error)


def _run(built: Compiled, size: str, seed: int, time_limit: float) -> None:
    bound = built.bind(workload(built.task, size, dtype_name=built.dtype.name, seed=seed))
    bound.mark_unwritten()
    Examiner(bound, built.device, time_limit).run()


def _run_within(built: Compiled, size: str, seed: int, seconds: float) -> str:
    """Run for `seconds` at most; return a note if some threadgroups were not checked."""
    needed = SHADOW_BYTES_PER_BYTE * built.task.bytes(size, built.dtype.name)
    if needed > MOST_BYTES:
        return (
            f"bounds and races were not checked at a size: the state of the memory of {size} "
            f"takes more than {MOST_BYTES >> 30} GiB"
        )
    try:
        _run(built, size, seed, seconds)
    except TimeLimitExceeded:
        return (
            "bounds and races were checked in a part of the threadgroups: those for which "
            f"{seconds:g} s sufficed at size {size}"
        )
    return ""


@dataclass(frozen=True)
class _CheckRecord:
    """The result of an earlier checked run of one build at one size, in the build cache."""

    built: Compiled
    size: str

    @property
    def _key(self) -> str:
        built, task = self.built, self.built.task
        return build_cache.digest(
            "checked",
            find_toolchain().key,
            built.kernel.text,
            task.name,
            repr([(name, each.distribution) for name, each in task.inputs.items()]),
            repr(sorted(task.constants.items())),
            repr(task.extents(self.size)),
            built.dtype.name,
            repr(sorted(built.tunables.items())),
        )

    def load_note(self) -> str | None:
        """Return the note of the earlier run; None if there was no such run."""
        record = build_cache.load(self._key)
        return None if record is None else str(record["note"])

    def store_note(self, note: str) -> None:
        build_cache.store(self._key, {"note": note})


# A kernel that has passed its checked runs passes them again, unless its code has changed, or what
# checks it. So the pass is stored in the build cache for a week: an executor, which runs the
# kernel's code, can write no file. After a week the runs have other inputs and another random size.

LASTS_S = 7 * 86_400
# The file of the library that names the code that passed before it was released, and its digits.
RELEASED = "checked.json"
DIGITS = 32
_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class CheckedPass:
    """The pass of the checked runs of one kernel, at the small sizes and at a random one.

    Its key is a digest of the code, the compiler and the front end with their headers, the
    extension that runs the checked build, and the code of these checks.
    """

    builds: Builds

    @property
    def code(self) -> str:
        """A digest of the source with its headers, element type, tunables, sizes and inputs.

        It is the same on every machine.
        """
        builds, task = self.builds, self.builds.task
        arrays = [
            (name, [str(extent) for extent in each.shape], each.dtype, each.pixel_format)
            for name, each in (*task.inputs.items(), *task.outputs.items())
        ]
        drawn = [
            (name, each.distribution, each.together, [other.name for other in each.variations])
            for name, each in task.inputs.items()
        ]
        tunables = builds.kernel.resolve_tunables(builds.tunables, dtype=builds.dtype_name)
        return build_cache.digest(
            builds.kernel.text,
            task.name,
            repr([arrays, drawn, sorted(task.constants.items())]),
            repr({size: task.extents(size) for size in task.sizes}),
            builds.dtype_name,
            repr(sorted(tunables.items())),
        )

    @property
    def _key(self) -> str:
        return build_cache.digest(
            "checked runs passed",
            find_toolchain().key,
            build_cache.digest_trees([(_PACKAGE / each, (".py",)) for each in ("verify", "task")]),
            repr(build_cache.read_file_state(_core.__file__)),
            self.code,
        )

    def load_note(self) -> str | None:
        """Return a note on the earlier pass; None if there was none, or the header is wrong."""
        try:
            record = build_cache.load(self._key)
            is_released = self.code[:DIGITS] in _list_released()
        except MetalBenchError:  # which the attempt reports
            return None
        if record is None or not 0 <= time.time() - record["at"] < LASTS_S:
            return NOTE_OF_RELEASED if is_released else None
        day = time.strftime("%Y-%m-%d", time.gmtime(record["at"]))
        return (
            f"bounds and races were not checked again: the same code passed on {day}; --recheck "
            "repeats that"
        )

    def store(self) -> None:
        """Keep that the runs have passed, all of them."""
        build_cache.store(self._key, {"at": time.time()})


NOTE_OF_RELEASED = (
    "bounds and races were not checked here: this code of the library passed before it was "
    "released; --recheck checks it"
)


@cache
def _list_released() -> frozenset[str]:
    """Return the digests of the library's code that passed before it was released."""
    path = library_folder() / RELEASED
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return frozenset(found.values())


def _report_failed_check(
    builds: Builds, error: MetalBenchError, size: str = "", seed: int | None = None
) -> Report:
    """Return a finding for `error`, or a note if `error` states a limit of the checking device."""
    device = builds.device
    skips = (Unsupported,) if device.checked_builds else BEYOND_SIMULATION
    if not isinstance(error, skips):
        return Report((make_finding(error, size, seed),))
    where = ""
    if not device.checked_builds:
        where = f"the cpu device checks them for {device.kind}, and could not: "
    return Report(skipped=(f"bounds and races were not checked: {where}{error}",))


# Count whether a repeated pass does the same work as the first one: a timed pass is one of many.
#
# A kernel that only finds out that the answer is there computes nothing, and is right every time.
# It may read what earlier passes left in ways that no check of memory reports: an atomic exchange
# need not use what it reads. The counts show it. The times of passes on new inputs show it as well
# (run/timed.py), in the build that is timed.

# A counted run at the timed size that would take longer is not made.
LONGEST_S = 2.0
# A repeated pass must do this share of the first pass's work. A wait for another threadgroup, or a
# comparison with the value of an atomic, need not take as long each time.
LEAST_SHARE = 0.95


def verify_same_work(
    builds: Builds,
    *,
    timed: str | None = None,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
    progress: Progress = ignore_progress,
) -> Report:
    """Compare the counts of a first pass with those of the next pass on the same inputs.

    Runs at the first small size of the task, and at the size `timed` if its counted run is expected
    to take at most `LONGEST_S`. Only a kernel that `can_remember` is counted, once for each source:
    the build cache stores that it passed. The report's `skipped` says what could not be counted.
    Raises MachineError if the machine fails.
    """
    kernel, task, dtype_name = builds.kernel, builds.task, builds.dtype_name
    if not can_remember(kernel):
        return Report()
    small = next(iter(small_sizes(task)), next(iter(task.sizes)))
    key = _key(builds, (small, timed or small))
    if build_cache.load(key) is not None:
        return Report()
    try:
        progress(f"{small}, counted")
        report, pass_s = _compare_passes(builds.counted, small, seed, time_limit)
        if report.passed and timed not in (None, small):
            growth = task.flops(timed) / max(1, task.flops(small))
            growth = max(growth, task.bytes(timed, dtype_name) / task.bytes(small, dtype_name))
            if pass_s * growth <= LONGEST_S:
                progress(f"{timed}, counted")
                report, _ = _compare_passes(builds.counted, timed, seed, time_limit)
    except MachineError:
        raise
    except MetalBenchError as error:
        return Report(skipped=(f"the work of repeated passes was not compared: {error}",))
    if report.passed:
        build_cache.store(key, {"passed": True})
    return report


def can_remember(kernel: Kernel) -> bool:
    """Return whether a kernel can read what an earlier pass left, unseen by its checked build.

    A checked build reports every plain read of an output or of scratch that the pass has not
    written yet. An array that is updated in place may be read. Macros may put the name of an atomic
    function together.
    """
    return bool(kernel.inouts) or "atomic" in kernel.text or "##" in kernel.text


def _key(builds: Builds, sizes: Sequence[str]) -> str:
    kernel, task, dtype_name = builds.kernel, builds.task, builds.dtype_name
    return build_cache.digest(
        "same work",
        find_toolchain().key,
        kernel.text,
        task.name,
        repr([task.extents(each) for each in sizes]),
        dtype_name,
        repr(sorted(kernel.resolve_tunables(builds.tunables, dtype=dtype_name).items())),
    )


def _compare_passes(
    compiled: Compiled, size: str, seed: int, time_limit: float
) -> tuple[Report, float]:
    """Compare two passes at `size`; return the report, and the time in s of the second pass."""
    work = workload(compiled.task, size, dtype_name=compiled.dtype.name, seed=seed)
    bound = compiled.bind(work)
    examiner = Examiner(bound, compiled.device, time_limit)
    examiner.run()
    first = _total(compiled, bound)
    start = perf_counter()
    examiner.rerun()
    pass_s = perf_counter() - start
    again = _total(compiled, bound)
    for what, names in _KINDS.items():
        before, after = (sum(getattr(each, name) for name in names) for each in (first, again))
        if after >= LEAST_SHARE * before:
            continue
        message = (
            f"a repeated pass on the same inputs does less than the first one: {after:,} {what} "
            f"instead of {before:,}; the kernel must compute everything in every run, whatever an "
            "earlier run left in its outputs or its scratch"
        )
        return Report((examiner.make_finding(Kind.LESS_WORK, message),)), pass_s
    return Report(), pass_s


_KINDS = {
    "accesses of device memory": ("device_reads", "device_writes"),
    "accesses of threadgroup memory": ("threadgroup_reads", "threadgroup_writes"),
    "matrix multiplies": ("matrix_multiplies",),
    "floating-point operations": (
        "float_add",
        "float_multiply",
        "float_fma",
        "float_divide",
        "float_special",
    ),
}


def _total(compiled: Compiled, bound: Bound) -> Counts:
    total = Counts()
    for each in read_counts(compiled, bound):
        total.add(each.total)
    return total
