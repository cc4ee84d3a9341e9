"""Draw workloads and run their oracles in the background, ahead of the checks that need them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from threading import Event

from metalbench.errors import Disturbed, MachineError, MetalBenchError, TaskError
from metalbench.kernel.prepare import Bound, Builds, Compiled
from metalbench.task import Task
from metalbench.task.declaration import draw_size
from metalbench.task.workload import KEPT_BYTES, Workload, workload
from metalbench.verify.examine import (
    EarlierResults,
    Examiner,
    ReferenceErrors,
    add_spikes,
    examine_repeatedly,
    examine_spikes,
)
from metalbench.verify.report import Finding, Report, make_finding

# Most bytes of inputs to draw for several seeds: the results of their oracle are kept too.
MOST_BYTES = KEPT_BYTES // 4


@contextmanager
def inputs_ahead(task: Task, size: str, seeds: Sequence[int], *, dtype_name: str) -> Iterator[None]:
    """Draw the inputs of `seeds` in a thread while the context runs; `workload` then finds them.

    Only the first of large inputs is drawn, because the cache does not hold several. The exit waits
    for the thread, unless an exception ended the context.
    """

    def draw() -> None:
        for seed in seeds:
            drawn = workload(task, size, dtype_name=dtype_name, seed=seed)
            if is_done.is_set() or drawn.nbytes > MOST_BYTES:
                break

    is_done = Event()
    executor = ThreadPoolExecutor(1, thread_name_prefix="inputs")
    drawing = executor.submit(draw)
    executor.shutdown(wait=False)
    try:
        yield
    finally:
        is_done.set()
    with suppress(Exception):  # `workload` raises it again where the inputs are used
        drawing.result()


def workloads_ahead(
    task: Task,
    size: str,
    seeds: Sequence[int],
    *,
    dtype_name: str,
    change: Callable[[Workload], Workload] | None = None,
) -> Iterator[Workload]:
    """Yield the workloads of `seeds` in order; a thread runs the oracle of the next one.

    Drawing inputs and running the oracle take most of the time of checking a large size, and need
    neither the device nor the GIL. `change` may replace each workload. Raises as `workload`. An
    error of the oracle is raised where its results are used.
    """

    def prepare(seed: int) -> Workload:
        work = workload(task, size, dtype_name=dtype_name, seed=seed)
        with suppress(TaskError):
            work = change(work) if change else work
            _ = work.expected, work.scale
        return work

    with ThreadPoolExecutor(1, thread_name_prefix="workload") as executor:
        coming = [executor.submit(prepare, seed) for seed in seeds[:1]]
        for place in range(len(seeds)):
            work = coming.pop().result()
            coming += [executor.submit(prepare, seed) for seed in seeds[place + 1 : place + 2]]
            yield work


# Verify a kernel against its task's oracle at several sizes and seeds.

SEEDS = 3
SPIKED = 2
TIME_LIMIT = 10.0

Progress = Callable[[str], None]


def ignore_progress(_: str) -> None:
    """Discard a progress message."""


@dataclass(frozen=True)
class VerifyPlan:
    """The sizes and seeds at which a kernel is compared with the oracle, and how.

    Attributes
    ----------
    sizes
        Names of sizes; None for `all_sizes` and the size that is timed.
    seed
        First seed of the run.
    seeds
        Seeds of every size; None for `seeds_for` that size, from `seed` on.
    timed
        Size that is timed. Inputs of its later seeds have spikes, for which MLX's error is not
        measured. Without sizes and seeds the default is the headline size.
    repeat
        Run the first seed of each size again and again. False if another seed has been repeated.
    time_limit
        Seconds for one run of all dispatches.
    progress
        Called with each size and seed.
    reference_errors
        Known errors of the reference by size. New ones are added.
    earlier
        Results of the kernel so far, by size. New ones are added.
    """

    sizes: Sequence[str] | None = None
    seed: int = 0
    seeds: Sequence[int] | None = None
    timed: str | None = None
    repeat: bool = True
    time_limit: float = TIME_LIMIT
    progress: Progress = ignore_progress
    reference_errors: dict[str, ReferenceErrors] = field(default_factory=dict)
    earlier: dict[str, EarlierResults] = field(default_factory=dict)


def small_sizes(task: Task) -> list[str]:
    """Return the sizes of `task` that are small enough for checked builds."""
    return [name for name in task.sizes if name == "small" or name.startswith("odd")]


def all_sizes(task: Task, seed: int = 0, *, upto: str | None = None) -> list[str]:
    """Return the declared sizes of `task` and one random size that `seed` determines.

    Headline sizes of GPUs other than the slowest are omitted: they take minutes on a CPU. With
    `upto` only small sizes are returned, and sizes with at most the work of that size.
    """
    if upto is None:
        left_out = {*task.gpu_headlines[1:]} - {task.headline}
        return [*(each for each in task.sizes if each not in left_out), draw_size(task, seed)]
    small, most = small_sizes(task), task.work(upto)
    fitting = [
        name for name in task.sizes if name in small or all(map(operator.le, task.work(name), most))
    ]
    return [*fitting, draw_size(task, seed, upto=upto)]


def seeds_for(task: Task, size: str, seed: int = 0, *, timed: bool = False) -> list[int]:
    """Return the consecutive seeds from `seed` on at which `size` is verified.

    The seeds of small sizes, and of the `timed` size, cover every variation of the inputs. The
    timed size has at least two more seeds, for inputs with spikes.
    """
    count = _count_plain_seeds(task, size)
    if timed:
        count = max(count + SPIKED, task.turn)
    return list(range(seed, seed + count))


def _count_plain_seeds(task: Task, size: str) -> int:
    """Return the number of seeds whose inputs have no spikes."""
    return max(SEEDS, task.turn) if size in small_sizes(task) else SEEDS


def verify(builds: Builds, plan: VerifyPlan | None = None) -> Report:
    """Compile a kernel and compare it with the oracle of its task; a failure is a finding.

    Raises DeclarationError for an unknown size or element type, TaskError if the task's own code
    fails, MachineError if the machine fails, and Disturbed if the system ended a run.
    """
    plan = plan or VerifyPlan()
    task = builds.task
    task.check_dtype(builds.dtype_name)
    if plan.sizes is not None:
        sizes = list(plan.sizes)
    else:
        sizes = all_sizes(task, plan.seed)
        if plan.seeds is None:
            timed = plan.timed or task.headline_on(builds.device)
            plan = replace(plan, timed=timed)
            sizes = list(dict.fromkeys([*sizes, timed]))
    for size in sizes:
        task.values(size)
    try:
        compiled = builds.plain
    except MachineError:
        raise
    except MetalBenchError as error:
        return Report((make_finding(error),))
    return verify_compiled(compiled, replace(plan, sizes=sizes))


def verify_compiled(compiled: Compiled, plan: VerifyPlan) -> Report:
    """Compare a compiled kernel with the oracle at `plan.sizes`; raises as `verify`.

    A failure skips the remaining seeds of its size. A failure that ends verification, such as a
    hang, skips the remaining sizes.
    """
    report = Report()
    for size in plan.sizes or ():
        report += _verify_size(compiled, size, plan)
        if any(each.kind.ends_verification for each in report.findings):
            break
    return report


def _verify_size(compiled: Compiled, size: str, plan: VerifyPlan) -> Report:
    task, is_timed = compiled.task, size == plan.timed
    seeds = plan.seeds
    if seeds is None:
        seeds = seeds_for(task, size, plan.seed, timed=is_timed)
    first_spiked = plan.seed + _count_plain_seeds(task, size) if is_timed else math.inf
    known = plan.reference_errors.setdefault(size, ReferenceErrors())
    earlier = plan.earlier.setdefault(size, EarlierResults())
    notes: list[str] = []

    def add_spikes_to(work: Workload) -> Workload:
        if work.seed < first_spiked:
            return work
        spiked = add_spikes(work)
        if spiked is None:
            notes.append(f"inputs have no spikes: seed {work.seed} at size {size}")
        return spiked or work

    # Drawing a size that the kernel refuses may take long, or more memory than there is.
    with _collect_finding(size, plan.seed) as refused:
        compiled.check_limits(task.values(size))
    report = Report(tuple(refused))
    if not report.passed:
        return report
    bound: Bound | None = None
    works = workloads_ahead(task, size, seeds, dtype_name=compiled.dtype.name, change=add_spikes_to)
    for seed, work in zip(seeds, works, strict=True):
        plan.progress(f"{size}, seed {seed}")
        with _collect_finding(size, seed) as found:
            bound = bound.load(work) if bound else compiled.bind(work)
            examiner = Examiner(bound, compiled.device, plan.time_limit, known, compiled, earlier)
            if seed >= first_spiked:
                report += examine_spikes(examiner)
            elif plan.repeat and seed == seeds[0]:
                report += examine_repeatedly(examiner)
            else:
                report += examiner.examine()
        report += Report(tuple(found))
        if not report.passed:
            break
    return report + Report(skipped=tuple(notes))


@contextmanager
def _collect_finding(size: str, seed: int) -> Iterator[list[Finding]]:
    """Yield a list; append the finding of an error that the kernel causes in this context."""
    found: list[Finding] = []
    try:
        yield found
    except (TaskError, MachineError, Disturbed):
        raise
    except MetalBenchError as error:
        found.append(make_finding(error, size, seed))
