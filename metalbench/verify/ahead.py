"""Workloads of coming checks, worked out while the present one runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from metalbench.errors import TaskError
from metalbench.task import Task
from metalbench.task.workload import Workload, workload


@contextmanager
def inputs_ahead(task: Task, size: str, seeds: Sequence[int], *, dtype_name: str) -> Iterator[None]:
    """Draw the inputs of `seeds` beside what is done meanwhile; who asks for them finds them.

    At the end they are drawn, or were not begun.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="inputs") as executor:
        for seed in seeds:
            executor.submit(workload, task, size, dtype_name=dtype_name, seed=seed)
        try:
            yield
        finally:
            executor.shutdown(cancel_futures=True)


def workloads_ahead(
    task: Task,
    size: str,
    seeds: Sequence[int],
    *,
    dtype_name: str,
    changed: Callable[[Workload], Workload] | None = None,
) -> Iterator[Workload]:
    """The workloads of `seeds`, in order; what the oracle makes of the next one is there by then.

    Drawing inputs and asking the oracle take most of the time of checking a large size, and need
    neither the device nor Python's lock. `changed` makes others of them first. Raises as
    `workload`; what is wrong with the oracle, where its results are used.
    """

    def worked_out(seed: int) -> Workload:
        work = workload(task, size, dtype_name=dtype_name, seed=seed)
        with suppress(TaskError):
            work = changed(work) if changed else work
            _ = work.expected, work.scale
        return work

    with ThreadPoolExecutor(1, thread_name_prefix="workload") as executor:
        coming = [executor.submit(worked_out, seed) for seed in seeds[:1]]
        for place in range(len(seeds)):
            work = coming.pop().result()
            coming += [executor.submit(worked_out, seed) for seed in seeds[place + 1 : place + 2]]
            yield work
