"""Where the time goes until a run of one kernel times its first window, in both of its processes.

    python benchmarks/start_stages.py [--times 5] [NAME] [OPTION OF metalbench run]...

Warm caches. Every line is a step of one process: when it begins and how long it takes, medians in
ms since the command was started. Steps of two processes, or of two threads, overlap, and so does
a step with those that it is made of, which stand below it. What `startup.py` tells is the time
until STAGE MEASURE.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

HERE = str(Path(__file__).parents[1])
PROGRAM = f"import sys; sys.path.insert(0, {HERE!r}); from benchmarks.start_stages import command"
LEAST_MS = 0.5
STARTED, BEGUN = "METALBENCH_START_OF_STAGES", "METALBENCH_BEGIN_OF_WORKER"
# What is a line where it takes longer than that: functions of the command's process and of the
# worker's, by their places. Modules of the command's are those that it imports at once.
OF_COMMAND = (
    "metalbench.cli.options:MachineConfig.create_workers",
    "metalbench._core:open",
    "metalbench.cli.run:list_trials",
    "metalbench.cli.machine:warn",
    "metalbench.cli.run:open_consoles",
    "metalbench.cli.reporting:progress_on",
    "metalbench.cli.machine:LocalMachine.environment",
    "metalbench.workers.pool:WorkerHandle.begin",
)
OF_WORKER = (
    "metalbench.workers.worker:confine",
    "metalbench.workers.worker:Executors",
    "metalbench.workers.worker:importlib.import_module",
    "metalbench._core:open",
    "metalbench.workers.channel:Channel.receive",
)
# The same once the worker has imported what it needs.
OF_ATTEMPT = (
    "metalbench.run.attempt:choose_judge",
    "metalbench.kernel.prepare:compile_kernel",
    "metalbench.verify:verify_compiled",
    "metalbench.verify:verify_checked",
    "metalbench.verify.examine:Examiner.run",
    "metalbench.kernel.prepare:Compiled.bind",
    "metalbench.reference:outputs",
    "metalbench.reference:create_reference",
    "metalbench.reference.chain:Reference.load",
    "metalbench.reference.chain:Reference.pass_over",
    "metalbench.run.reference_forms:load_choice",
    "metalbench.run.reference_forms:choose_form",
    "metalbench.run.timed:create_probe",
    "metalbench.run.timed:BufferRotation.of",
    "metalbench.run.timed:Timed.prepare",
    "metalbench.workers.worker:_wait_for_compilation",
)


class Steps:
    """The steps of this process so far: name, begin and length in ms."""

    def __init__(self, process: str) -> None:
        self._process = process
        self._told: list[tuple[str, str, float, float]] = []
        self.note("starts Python", 0.0 if process == "command" else float(os.environ[BEGUN]))

    @staticmethod
    def now() -> float:
        """Milliseconds since the command was started."""
        return 1e3 * (time.time() - float(os.environ[STARTED]))

    def note(self, name: str, begin: float) -> None:
        """Keep a step that has just ended."""
        self._told.append((self._process, name, begin, self.now() - begin))

    def tell(self) -> None:
        """Print them, in the order in which they began."""
        for each in sorted(self._told, key=lambda each: each[2]):
            print(json.dumps(each), flush=True)

    def watch(self, places: Iterable[str]) -> None:
        """Note every call of the functions at `places` from here on."""
        for place in places:
            module, _, path = place.partition(":")
            *inner, name = path.split(".")
            owner: Any = importlib.import_module(module)
            for each in inner:
                owner = getattr(owner, each)
            setattr(owner, name, self._wrap(owner.__dict__[name], path))

    def _wrap(self, found: Any, name: str) -> Any:
        if isinstance(found, property):
            return property(self._wrap(found.fget, name))
        if isinstance(found, classmethod):
            return classmethod(self._wrap(found.__func__, name))
        if isinstance(found, type):
            return self._noting(found, name)
        return wraps(found)(self._noting(found, name))

    def _noting(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def noting(*arguments: Any, **options: Any) -> Any:
            begin = self.now()
            try:
                return function(*arguments, **options)
            finally:
                of = arguments[0] if arguments and isinstance(arguments[0], str) else ""
                if self.now() - begin > LEAST_MS:
                    self.note(f"{name} {of}".strip(), begin)

        return noting


def command() -> None:
    """Be the command, until its worker times a first window; then print the steps of both."""
    steps = Steps("command")
    from metalbench.sandbox import process
    from metalbench.workers import pool

    pool.WORKER = __name__
    begin = steps.now()
    from metalbench.cli.group import main

    steps.note("imports the command line", begin)
    steps.watch(OF_COMMAND)
    begun = pool.WorkerHandle.__init__

    def note_start(self: Any, *arguments: Any) -> None:
        os.environ[BEGUN] = repr(steps.now())
        begun(self, *arguments)

    def end_worker(self: Any, *_: object) -> None:
        steps.tell()
        print(self.process.read_output_tail(), flush=True)
        os._exit(0)

    pool.WorkerHandle.__init__ = note_start  # type: ignore[method-assign,assignment]
    pool.WorkerHandle.make_failed_result = end_worker  # type: ignore[method-assign,assignment]
    process.LAST_WORDS_BYTES = 1 << 20
    main()


def work(channel: int, lifeline: int, parent: int, device: str) -> None:
    """Be a worker, which tells its steps and ends as soon as it would time a first window."""
    steps = Steps("worker")
    from metalbench.workers import worker

    steps.watch(OF_WORKER)
    attempt, entered = worker._attempt, worker._ChannelObserver.stage_started

    def note_stage(self: Any, stage: Any) -> None:
        steps.note(f"STAGE {stage.name}", steps.now())
        entered(self, stage)

    def watch_attempt(*arguments: Any) -> Any:
        from metalbench.measure.sampling import Series

        steps.watch(OF_ATTEMPT)
        Series._look = first_window  # type: ignore[method-assign,assignment]
        return attempt(*arguments)

    def first_window(*_: object, **__: object) -> None:
        steps.note("THE FIRST WINDOW", steps.now())
        steps.tell()
        os._exit(1)

    worker._attempt = watch_attempt  # type: ignore[assignment]
    worker._ChannelObserver.stage_started = note_stage  # type: ignore[method-assign]
    worker.work(channel, lifeline, parent, device)


def run_start(arguments: list[str]) -> list[tuple[str, str, float, float]]:
    """Return one start's steps."""
    environment = {**os.environ, STARTED: repr(time.time())}
    answer = subprocess.run(
        [sys.executable, "-c", f"{PROGRAM}; command()", "run", *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    lines = (line for line in answer.stdout.splitlines() if line.startswith("["))
    return [tuple(json.loads(line)) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=5)
    options, arguments = parser.parse_known_args()
    arguments = arguments if arguments and arguments[0][0] != "-" else ["relu", *arguments]
    os.environ["METALBENCH_HOME"] = tempfile.mkdtemp()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # which is one of the caches
    command = [sys.executable, "-m", "metalbench", "run", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    times: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for _ in range(options.times):
        seen: dict[tuple[str, str], int] = {}
        for process, name, begin, length in run_start(arguments):
            turn = seen[process, name] = seen.get((process, name), 0) + 1
            times.setdefault((process, name, turn), []).append((begin, length))
    middle = {
        key: tuple(sorted(column)[len(column) // 2] for column in zip(*found, strict=True))
        for key, found in times.items()
    }
    for (process, name, _), (begin, length) in sorted(middle.items(), key=lambda each: each[1][0]):
        indent = "" if process == "command" else 44 * " "
        print(f"{begin:7.0f} {length:7.0f}  {indent}{name}")


if __name__ == "__main__":
    main()
