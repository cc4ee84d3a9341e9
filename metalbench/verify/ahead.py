"""Workloads of coming checks, worked out while the present one runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event

from metalbench.errors import TaskError
from metalbench.task import Task
from metalbench.task.workload import KEPT_BYTES, Workload, workload

# Of inputs that are drawn several at a time: their oracle's results are kept beside them.
MOST_BYTES = KEPT_BYTES // 4


@contextmanager
def inputs_ahead(task: Task, size: str, seeds: Sequence[int], *, dtype_name: str) -> Iterator[None]:
    """Draw the inputs of `seeds` beside what is done meanwhile; who asks for them finds them.

    Of large ones only the first, for several would not be kept. At the end no thread draws any
    more, unless by an exception, which is not to wait.
    """

    def draw() -> None:
        for seed in seeds:
            drawn = workload(task, size, dtype_name=dtype_name, seed=seed)
            if left.is_set() or drawn.nbytes > MOST_BYTES:
                break

    left = Event()
    executor = ThreadPoolExecutor(1, thread_name_prefix="inputs")
    drawing = executor.submit(draw)
    executor.shutdown(wait=False)
    try:
        yield
    finally:
        left.set()
    with suppress(Exception):  # whoever asks for the inputs is told
        drawing.result()


def workloads_ahead(
    task: Task,
    size: str,
    seeds: Sequence[int],
    *,
    dtype_name: str,
    change: Callable[[Workload], Workload] | None = None,
) -> Iterator[Workload]:
    """The workloads of `seeds`, in order; what the oracle makes of the next one is there by then.

    Drawing inputs and asking the oracle take most of the time of checking a large size, and need
    neither the device nor Python's lock. `change` makes others of them first. Raises as
    `workload`; what is wrong with the oracle, where its results are used.
    """

    def worked_out(seed: int) -> Workload:
        work = workload(task, size, dtype_name=dtype_name, seed=seed)
        with suppress(TaskError):
            work = change(work) if change else work
            _ = work.expected, work.scale
        return work

    with ThreadPoolExecutor(1, thread_name_prefix="workload") as executor:
        coming = [executor.submit(worked_out, seed) for seed in seeds[:1]]
        for place in range(len(seeds)):
            work = coming.pop().result()
            coming += [executor.submit(worked_out, seed) for seed in seeds[place + 1 : place + 2]]
            yield work
