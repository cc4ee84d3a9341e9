"""Draw workloads and run their oracles in the background, ahead of the checks that need them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event

from metalbench.errors import TaskError
from metalbench.task import Task
from metalbench.task.workload import KEPT_BYTES, Workload, workload

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
