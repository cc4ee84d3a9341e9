"""Count whether a repeated pass does the same work as the first one: a timed pass is one of many.

A kernel that only finds out that the answer is there computes nothing, and is right every time. It
may read what earlier passes left in ways that no check of memory reports: an atomic exchange need
not use what it reads. The counts show it. The times of passes on new inputs show it as well
(run/reuse_audit.py), in the build that is timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from metalbench.counting.count import read_counts
from metalbench.counting.counts import Counts
from metalbench.errors import MachineError, MetalBenchError
from metalbench.kernel import Kernel
from metalbench.kernel.prepare import Bound, Builds, Compiled
from metalbench.kind import Kind
from metalbench.msl.building import cache
from metalbench.msl.building.toolchain import find_toolchain
from metalbench.task.workload import workload
from metalbench.verify.examine import Examiner
from metalbench.verify.flow import TIME_LIMIT, Progress, ignore_progress, small_sizes
from metalbench.verify.verdict import Report

# A counted run at the timed size that would take longer is not made.
LONGEST_S = 2.0
# Of the first pass's work a repeated one may save as much: a wait for another threadgroup, or a
# comparison with what an atomic holds, need not take as long each time.
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
    if cache.load(key) is not None:
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
        cache.store(key, {"passed": True})
    return report


def can_remember(kernel: Kernel) -> bool:
    """Return whether a kernel has memory to keep inputs in, or can read unwritten memory unseen.

    A kernel that keeps no inputs cannot recognise them; and a checked build reports every plain
    read of an output that nothing has written yet. Macros may put the name of an atomic function
    together.
    """
    return bool(kernel.scratches) or "atomic" in kernel.text or "##" in kernel.text


def _key(builds: Builds, sizes: Sequence[str]) -> str:
    kernel, task, dtype_name = builds.kernel, builds.task, builds.dtype_name
    return cache.digest(
        "same work",
        find_toolchain().key,
        kernel.text,
        task.name,
        repr([task.extents(each) for each in sizes]),
        dtype_name,
        repr(sorted(kernel.tuned(builds.tunables, dtype=dtype_name).items())),
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
