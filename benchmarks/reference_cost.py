"""What timing MLX adds to the time of what it computes.

    python benchmarks/reference_cost.py [--device cpu|metal]

References of 1, 2 and 4 operations, each of which needs the one before: a square matrix times a
vector, of several sizes. They are timed as kernels' references are, in turns; the least of many
windows counts. What an operation takes is the slope, and what a repetition adds is what is left for
no operation at all: handing over graphs, and putting one repetition behind the other. The first
row's operation is next to nothing.

`host` is what the calling thread does for a repetition; it is hidden where an operation takes
longer. On Linux times are the processor's for MLX's own threads, so that other programs do not
count; elsewhere they are wall times.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter, thread_time

import mlx.core as mx

from metalbench.reference import Reference
from metalbench.reference.evaluate import select_stream
from metalbench.task import normal, output, task
from metalbench.task.workload import workload

# From nothing to a millisecond and more; a GPU needs larger ones.
SIDES = {
    "cpu": (1, 64, 96, 128, 160, 192, 256, 512),
    "metal": (1, 256, 512, 1024, 2048, 4096, 8192),
}
LENGTHS = (1, 2, 4)
PASSES = 64
ROUNDS = 60
THREADS = Path("/proc/self/task")
Clock = Callable[[], float]


@task(
    sizes={f"n{side}": dict(n=side) for sides in SIDES.values() for side in sides},
    inputs=dict(a=normal("n", "n", deviation=0.01), x=normal("n")),
    outputs=dict(y=output("n")),
    constants=dict(times=1),
    oracle=lambda a, x, times: a @ x,
    flops="2 * n * n",
    headline="n1",
)
def products(a: mx.array, x: mx.array, times: int) -> mx.array:
    for _ in range(times):
        x = mx.matmul(a, x)
    return x


def other_threads_time() -> float:
    """Seconds that all threads but this one have run; Linux counts them in nanoseconds."""
    others = (each for each in THREADS.iterdir() if int(each.name) != threading.get_native_id())
    return 1e-9 * sum(int((each / "schedstat").read_text().split()[0]) for each in others)


def time_reference(clock: Clock, reference: Reference) -> float:
    """Microseconds of one repetition on a clock."""
    start = clock()
    reference(PASSES)
    return 1e6 * (clock() - start) / PASSES


def least(clock: Clock, references: Sequence[Reference]) -> list[float]:
    """Return the least time of many windows of each side, in alternation."""
    for each in references:
        each(PASSES)
    rounds = [[time_reference(clock, each) for each in references] for _ in range(ROUNDS)]
    return [min(each) for each in zip(*rounds, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=tuple(SIDES), default="cpu")
    kind = parser.parse_args().device
    if kind == "metal" and select_stream(kind) == mx.cpu:
        raise SystemExit("MLX has no GPU here")
    counted = kind == "cpu" and sys.platform == "linux"
    print(f"mlx {mx.__version__} on {select_stream(kind)}: us, least of {ROUNDS} windows")
    print(f"{'n':>5} {'host':>8} {'repetition':>11} {'operation':>11} {'added':>8}")
    for side in SIDES[kind]:
        chains = (replace(products, constants=dict(times=times)) for times in LENGTHS)
        references = [Reference(workload(each, f"n{side}"), kind=kind) for each in chains]
        (host,) = least(thread_time, references[:1])
        short, middle, long = least(other_threads_time if counted else perf_counter, references)
        operation = ((long - short) / 3 + (long - middle) / 2 + (middle - short)) / 3
        added = short - operation
        share = added / operation
        print(f"{side:5} {host:8.2f} {short:11.2f} {operation:11.2f} {added:8.2f} {share:8.1%}")


if __name__ == "__main__":
    main()
