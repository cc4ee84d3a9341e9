"""Whether a pass does the same work when it is repeated: a timed pass is one of many.

Who only finds out that the answer is there already computes nothing, and is right every time. What
earlier passes left may be looked at in ways that no check of memory objects to: an atomic exchange
need not mean what it reads. But what is counted shows it.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalbench import _core
from metalbench.counting.count import counts_of
from metalbench.counting.counts import Counts
from metalbench.errors import MachineError, MetalBenchError
from metalbench.kernel import Kernel
from metalbench.kernel.prepare import Bound, Compiled, compile_kernel
from metalbench.kind import Kind
from metalbench.msl.building import cache
from metalbench.msl.building.toolchain import toolchain
from metalbench.task import Task
from metalbench.task.workload import workload
from metalbench.verify.examine import Examiner
from metalbench.verify.flow import TIME_LIMIT, Progress, quiet, small_sizes
from metalbench.verify.verdict import Report

# Of the first pass's work a repeated one may save as much: a wait for another threadgroup, or a
# comparison with what an atomic holds, need not take as long each time.
LEAST_SHARE = 0.95


def verify_same_work(
    device: _core.Device,
    kernel: Kernel,
    task: Task,
    *,
    dtype_name: str = "float32",
    seed: int = 0,
    tunables: Mapping[str, int] | None = None,
    time_limit: float = TIME_LIMIT,
    progress: Progress = quiet,
) -> Report:
    """Count a first pass and the next one on the same inputs, at the first small size of the task.

    Only of a kernel that `could_remember`, and once for each source: that it passed is kept in
    the cache. What cannot be counted is told in the report's `skipped`. Raises MachineError if the
    machine fails.
    """
    if not could_remember(kernel):
        return Report()
    sizes = small_sizes(task)
    size = sizes[0] if sizes else next(iter(task.sizes))
    key = _key(kernel, task, size, dtype_name, tunables)
    if cache.load(key) is not None:
        return Report()
    progress(f"{size}, counted")
    try:
        compiled = compile_kernel(
            device, kernel, task, dtype_name=dtype_name, tunables=tunables, counted=True
        )
        bound = compiled.bind(workload(task, size, dtype_name=dtype_name, seed=seed))
        report = _judged(compiled, bound, Examiner(bound, compiled.device, time_limit))
    except MachineError:
        raise
    except MetalBenchError as error:
        return Report(skipped=(f"that repeated passes do the same work was not seen: {error}",))
    if report.passed:
        cache.store(key, {"passed": True})
    return report


def could_remember(kernel: Kernel) -> bool:
    """Whether a kernel has where to keep its inputs, or reads what is not written and is not seen.

    Inputs that are not kept cannot be known again; and plain reads of outputs that nothing has
    written yet are findings of every checked build.
    """
    return bool(kernel.scratches) or "atomic_exchange" in kernel.text


def _key(
    kernel: Kernel, task: Task, size: str, dtype_name: str, tunables: Mapping[str, int] | None
) -> str:
    return cache.digest(
        "same work",
        toolchain().key,
        kernel.text,
        task.name,
        repr(task.extents(size)),
        dtype_name,
        repr(sorted(kernel.tuned(tunables, dtype=dtype_name).items())),
    )


def _judged(compiled: Compiled, bound: Bound, examiner: Examiner) -> Report:
    examiner.run()
    first = _total(compiled, bound)
    examiner.rerun()
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
        return Report((examiner.finding(Kind.LESS_WORK, message),))
    return Report()


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
    for each in counts_of(compiled, bound):
        total.add(each.total)
    return total
