"""CPU seconds of a run by stage: of the judge, of its executors and compilers, and of the command.

    python benchmarks/run_stages.py [--json FILE] [--kernels] [NAME OR OPTION OF metalbench run]...

Processor time (user and system) of process trees, not wall time: other programs on the machine
change it little. "preparation" is what the worker of a kernel does before its turn: it imports,
compiles, and lets MLX compile. A stage has the judge's time and that of its children: executors,
which run the kernel, and compilers. The last column is wall time of the stage. While one kernel is
checked, the next one may be prepared or verified, so that the sum of wall times exceeds the run's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = str(Path(__file__).parents[1])
PROGRAM = f"import sys; sys.path.insert(0, {HERE!r}); from benchmarks.run_stages import command"
RECORD = "METALBENCH_RECORD_OF_STAGES"
TICK = os.sysconf("SC_CLK_TCK")
PREPARATION = "preparation"


def read_process(number: int) -> tuple[int, float, float] | None:
    """Return the parent, and the CPU s of a process and of its reaped children; None if ended."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    own, reaped = (sum(map(int, fields[place : place + 2])) / TICK for place in (11, 13))
    return int(fields[1]), own, reaped


def read_tree(root: int) -> tuple[float, float]:
    """Return the CPU s of a process, and those of all its descendants, ended ones too."""
    found = {
        int(name): state
        for name in os.listdir("/proc")
        if name.isdigit() and (state := read_process(int(name))) is not None
    }
    if root not in found:
        return 0.0, 0.0
    inside, grown = {root}, True
    while grown:
        more = {each for each, (parent, *_) in found.items() if parent in inside} - inside
        inside |= more
        grown = bool(more)
    children = sum(found[each][1] + found[each][2] for each in inside) - found[root][1]
    return found[root][1], children


@dataclass
class Mark:
    """The CPU time of a worker's tree at the beginning of a stage."""

    stage: str
    wall_s: float
    own_s: float
    children_s: float


@dataclass
class Trace:
    """The marks of one kernel."""

    task: str
    marks: list[Mark] = field(default_factory=list)

    def add(self, stage: str, process: int) -> None:
        """Note that `stage` begins."""
        self.marks.append(Mark(stage, time.monotonic(), *read_tree(process)))

    def stages(self) -> list[tuple[str, float, float, float]]:
        """Return every stage with the s of the judge, of its children, and of wall time."""
        return [
            (
                mark.stage,
                after.own_s - mark.own_s,
                after.children_s - mark.children_s,
                after.wall_s - mark.wall_s,
            )
            for mark, after in zip(self.marks, self.marks[1:], strict=False)
        ]


def command() -> None:
    """Be `metalbench run`, and write the stages of every worker to the file of RECORD."""
    from metalbench.cli.group import main
    from metalbench.workers import pool

    begun, handle = pool.WorkerHandle.begin, pool.WorkerHandle._handle_message
    started = time.monotonic()
    traces: dict[int, Trace] = {}

    def begin(self: Any, job: Any) -> None:
        # A worker that has run ahead has begun before its turn.
        if not self._has_begun:
            trace = traces[self.process.number] = Trace(job.entry.name)
            trace.marks.append(Mark(PREPARATION, time.monotonic(), 0.0, 0.0))
            trace.add("start", self.process.number)
        begun(self, job)

    def handle_message(self: Any, message: Any) -> bool:
        name, value = message
        trace = traces.get(self.process.number)
        if trace is not None and name == "stage":
            trace.add(value.value, self.process.number)
        elif trace is not None and name in ("result", "untried", "machine", "disturbed"):
            trace.add("end", self.process.number)
            with open(os.environ[RECORD], "a", encoding="utf-8") as file:
                file.write(json.dumps([trace.task, trace.stages()]) + "\n")
        return handle(self, message)

    pool.WorkerHandle.begin = begin  # type: ignore[method-assign]
    pool.WorkerHandle._handle_message = handle_message  # type: ignore[method-assign]
    try:
        main()
    finally:
        own_s, _ = read_tree(os.getpid())
        with open(os.environ[RECORD], "a", encoding="utf-8") as file:
            figures = [own_s, time.monotonic() - started]
            file.write(json.dumps(["", figures]) + "\n")


def run(arguments: Iterable[str]) -> list[Any]:
    """Run `metalbench run` once; return its kernels' stages, and figures of the whole run last."""
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl", encoding="utf-8") as record:
        subprocess.run(
            [sys.executable, "-c", f"{PROGRAM}; command()", "run", *arguments],
            check=False,
            env={**os.environ, RECORD: record.name},
        )
        return [json.loads(line) for line in record.read().splitlines()]


def print_table(rows: Iterable[tuple[str, float, float, float]], title: str) -> None:
    """Print rows of names with s of judge, children, both, and wall time; and their sum."""
    print(f"\n{title:24} {'judge':>8} {'children':>9} {'CPU':>8} {'wall':>8}")
    total = [0.0, 0.0, 0.0]
    for name, own, children, wall in rows:
        print(f"{name:24} {own:8.2f} {children:9.2f} {own + children:8.2f} {wall:8.2f}")
        total = [before + more for before, more in zip(total, (own, children, wall), strict=True)]
    print(f"{'sum':24} {total[0]:8.2f} {total[1]:9.2f} {total[0] + total[1]:8.2f} {total[2]:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, help="write the figures of every kernel to a file")
    parser.add_argument("--kernels", action="store_true", help="print a row for each kernel, too")
    options, arguments = parser.parse_known_args()
    *kernels, (_, (command_s, wall_s)) = run(arguments)
    if options.json is not None:
        options.json.write_text(json.dumps([*kernels, ["", [command_s, wall_s]]]))
    by_stage: dict[str, list[float]] = {}
    by_kernel = []
    for task, stages in kernels:
        for name, *figures in stages:
            so_far = by_stage.setdefault(name, [0.0, 0.0, 0.0])
            by_stage[name] = [a + b for a, b in zip(so_far, figures, strict=True)]
        own, children, wall = (sum(each[place] for each in stages) for place in (1, 2, 3))
        by_kernel.append((task, own, children, wall))
    if options.kernels:
        print_table(by_kernel, "kernel (s)")
    print_table([(name, *figures) for name, figures in by_stage.items()], "stage (s)")
    print(f"\n{len(kernels)} kernels in {wall_s:.1f} s; the command took {command_s:.1f} CPU s")


if __name__ == "__main__":
    main()
