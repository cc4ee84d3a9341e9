"""Measure the cost of running a kernel in an executor process.

    python benchmarks/executor.py [--pairs 1000]

The same kernels run in this process and in an executor, in pairs of windows in random order. The
ratio of times is judged as `metalbench run` judges a kernel against MLX. In addition: the time of a
window without work from request to answer, its fraction of a window, and the start of an
executor.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Bound, compile_kernel
from metalbench.sandbox.executors import Executor, Executors
from metalbench.stats import assess
from metalbench.task.workload import workload

KERNELS = ("relu", "softmax", "layer_norm")
WINDOW_NS = 5e6
STARTS = 9


def bind_kernel(device: _core.Device, name: str) -> Bound:
    """Return a kernel of the library at its headline."""
    entry = Library().entry(name)
    compiled = compile_kernel(device, entry.kernel(), entry.task)
    return compiled.bind(workload(entry.task, entry.task.headline))


def window(device: _core.Device, work: Bound, passes: int) -> _core.Samples:
    """Return one window; of 0 passes as many as make one."""
    return device.sample(
        work.dispatches,
        max_pairs=1,
        min_pairs=1,
        candidate_window=passes,
        window_ns=WINDOW_NS,
        warmup_ns=0 if passes else 50e6,
    )


def by_turns(devices: list[_core.Device], name: str, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Times in ns of a pass, shape (pairs, devices), and which device was first."""
    works = [bind_kernel(device, name) for device in devices]
    first = [window(*each, 0) for each in zip(devices, works, strict=True)]
    passes = max(int(each.candidate_window) for each in first)
    random = np.random.default_rng(0)
    times = np.empty((pairs, len(devices)))
    apart_first = np.empty(pairs, bool)
    for pair in range(pairs):
        order = random.permutation(len(devices))
        apart_first[pair] = order[0] == 1
        for side in order:
            look = window(devices[side], works[side], passes)
            times[pair, side] = look.candidate_ns[0]
    return times, apart_first


def handshakes_ns(device: _core.Device) -> np.ndarray:
    """Windows of empty kernels as the judge sees them: timed around the whole call."""
    source = "kernel void empty(device float* y) {}"
    values = {"y": device.allocate(4)}
    pipeline = device.compile(source).pipeline()
    dispatches = [_core.Dispatch(pipeline, values, threads_in_grid=1, threads=1)]
    times = []
    for _ in range(500):
        start = perf_counter()
        device.run(dispatches)
        times.append(1e9 * (perf_counter() - start))
    return np.array(times)


def start_s() -> float:
    """Until a new executor has answered for the first time."""
    start = perf_counter()
    executor = Executor()
    _core.run_apart(lambda: executor)
    device = _core.open("cpu")
    device.compile("kernel void empty(device float* y) {}").pipeline()
    return perf_counter() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1000)
    pairs = parser.parse_args().pairs
    here = _core.open("cpu")
    _core.run_apart(Executors().start)
    apart = _core.open("cpu")
    print(f"{'kernel':12} {'here':>11} {'executor':>11} {'here / executor':>22}  verdict")
    for name in KERNELS:
        times, apart_first = by_turns([here, apart], name, pairs)
        judged = assess(times[:, 0], times[:, 1], candidate_first=apart_first)
        low, middle, high = judged.ratio.low, judged.ratio.value, judged.ratio.high
        shown = f"{middle:.4f} [{low:.4f}, {high:.4f}]"
        medians = [f"{each / 1e3:8.1f} us" for each in np.median(times, axis=0)]
        print(f"{name:12} {medians[0]} {medians[1]} {shown:>22}  {judged.verdict.value}")
    both = [np.median(handshakes_ns(device)) for device in (here, apart)]
    way = both[1] - both[0]
    print(
        f"\na run of an empty kernel: {both[0] / 1e3:.1f} us here, "
        f"{both[1] / 1e3:.1f} us in an executor"
    )
    print(f"of a window of {WINDOW_NS / 1e6:g} ms, what is added is {way / WINDOW_NS:.2%}")
    starts = sorted(start_s() for _ in range(STARTS))
    print(f"an executor starts and loads a kernel in {1e3 * starts[STARTS // 2]:.0f} ms")


if __name__ == "__main__":
    main()
