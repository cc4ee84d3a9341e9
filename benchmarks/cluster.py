"""What an evaluation costs more on a Ray cluster of this machine than by the plain command.

    python benchmarks/cluster.py [--samples N] [--turns N] [--workers N] [--time S] [--kill N]

Small kernels, all different and none ever compiled before, are evaluated by
`metalbench evaluate --workers N` and the same with `--cluster local`, in turn; each way at first
for two samples only, so that what starting costs is not counted. Printed are medians per
evaluation, rows in the store against samples, and how many intervals of timing overlap. With
`--kill N` the cluster at last evaluates N samples and loses a process that has a kernel under way.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "kernelbench"))

import samples

from metalbench.kernelbench.folder import read_plan
from metalbench.store.store import Store

LIMIT_MS = 50
Interval = tuple[float, float]


def write(folder: Path, name: str, count: int) -> Path:
    """Return a task and that many generations, all new; every third is right."""
    kernels = folder / "kernels"
    if not kernels.is_dir():
        samples.tasks_in(kernels)
    kinds = (samples.RIGHT, samples.WRONG, samples.UNBOUND)
    texts = (kinds[each % len(kinds)] for each in range(count))
    numbered = [f"// {folder} {name} {number}\n{text}" for number, text in enumerate(texts)]
    return samples.write_samples(folder / name, [numbered])


class Runs:
    """Evaluations of one folder of generations after the other."""

    def __init__(self, folder: Path, seconds: float, workers: int) -> None:
        self._folder = folder
        self._options = ["--time", str(seconds), "--workers", str(workers), "--device", "cpu"]

    def seconds(self, name: str, count: int, *more: str, kill: bool = False) -> float:
        """Evaluate `count` new samples into a new store, tell, and return how long it took."""
        root, db = write(self._folder, name, count), self._folder / f"{name}.db"
        where = ["--kernels", str(self._folder / "kernels"), "--db", str(db)]
        words = [sys.executable, "-m", "metalbench", "evaluate", str(root), *where]
        start = perf_counter()
        with (self._folder / "said.txt").open("w+") as said:
            child = subprocess.Popen([*words, *self._options, *more], stdout=said, stderr=said)
            if kill:
                _kill_a_slot(child, db)
            if child.wait():
                said.seek(0)
                sys.exit(said.read()[-3000:])
            took = perf_counter() - start
            said.seek(0)
            again = sum("done again" in line for line in said)
        report(name, root, db, again)
        return took


def _kill_a_slot(command: subprocess.Popen[bytes], db: Path) -> None:
    """End a process of the cluster that has a kernel under way, once three samples are done."""
    while command.poll() is None:
        sleep(0.1)
        slots = _slots(command.pid)
        if slots and db.exists() and _count(db) >= 3:
            os.kill(slots[-1], signal.SIGKILL)
            return
    sys.exit("nothing was killed: the evaluation ended first; give more --samples")


def _slots(parent: int) -> list[int]:
    """Ray's processes beneath `parent` in which a slot of ours is asked something just now."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    beneath = {parent}
    for _ in range(4):
        beneath |= {int(own) for own, above, _ in rows if int(above) in beneath}
    return [int(own) for own, _, args in rows if int(own) in beneath and "ray::Slot." in args]


def _count(db: Path) -> int:
    with Store(db) as store, store.reading() as connection:
        return int(connection.execute("SELECT count(*) FROM evaluations").fetchone()[0])


def overlaps(intervals: list[Interval]) -> int:
    """Return how many timings began before another one had ended."""
    known = sorted(intervals)
    ends = np.maximum.accumulate([end for _, end in known])
    return sum(begin < end for (begin, _), end in zip(known[1:], ends[:-1], strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--time", type=float, default=0.05)
    parser.add_argument("--kill", type=int, default=0, help="samples of which one is lost")
    options = parser.parse_args()
    if options.samples < 3 or options.turns < 1 or 0 < options.kill < 5:
        parser.error("expected at least 3 samples, 1 turn, and 5 samples of which one is lost")
    with tempfile.TemporaryDirectory() as name:
        measure(Runs(Path(name), options.time, options.workers), options)


def measure(runs: Runs, options: argparse.Namespace) -> None:
    """Take turns, and print the medians; at last lose one."""
    ways: dict[str, tuple[str, ...]] = {"plain": (), "cluster": ("--cluster", "local")}
    costs: dict[str, list[float]] = {each: [] for each in ways}
    runs.seconds("warm", 2)
    for turn in range(options.turns):
        for way, more in ways.items():
            start = runs.seconds(f"{way}-{turn}-few", 2, *more)
            took = runs.seconds(f"{way}-{turn}", options.samples, *more)
            costs[way].append((took - start) / (options.samples - 2) * 1e3)
            print(f"{way}, turn {turn}: {costs[way][-1]:.1f} ms for each evaluation", flush=True)
    plain, cluster = (float(np.median(each)) for each in costs.values())
    print(f"plain   {plain:8.1f} ms for each evaluation")
    print(
        f"cluster {cluster:8.1f} ms: {cluster - plain:+.1f} ms (at most {LIMIT_MS} ms)", flush=True
    )
    if options.kill:
        took = runs.seconds("killed", options.kill, "--cluster", "local", kill=True)
        print(f"one killed: {took:.1f} s, {took / options.kill * 1e3:.1f} ms for each evaluation")


def report(what: str, root: Path, db: Path, again: int) -> None:
    """Print what the store says of one evaluation, and how many samples were begun again."""
    with Store(db) as store:
        found = store.evaluations(read_plan(root).id)
    timed = [(each.measured_from, each.measured_to) for each in found]
    known = [(begin, end) for begin, end in timed if begin is not None and end is not None]
    correct = sum(each.outcome == "correct" for each in found)
    print(
        f"{what}: {len(found)} evaluated in {_count(db)} rows, {again} again, {correct} correct, "
        f"{len(known)} timed, {overlaps(known)} overlaps",
        flush=True,
    )


if __name__ == "__main__":
    main()
