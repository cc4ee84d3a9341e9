"""Measure start-up times: an import, --help, and the start of the measurement of a run.

    python benchmarks/startup.py [--device cpu] [--times 7] [--beside PYTHON]

Whole processes, warm caches, medians; a bare interpreter in the same run for comparison. With
the interpreter of another environment, the same commands alternate with it, and ratios are shown.
`start_stages.py` shows the times of stages.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from statistics import median

# Runs the command line as a user does, and says when the first kernel enters the measuring stage.
FIRST_MEASUREMENT = """
import os, sys, time
from metalbench.cli import reporting
from metalbench.cli.group import main
shown = reporting.progress_on
def announcing(*arguments):
    progress = shown(*arguments)
    def announced(stage):
        if stage.name == "MEASURE":
            print(time.time() - float(os.environ["STARTED"]), flush=True)
            os._exit(0)
    progress.stage_started = announced
    return progress
reporting.progress_on = announcing
sys.argv = ["metalbench", "run", *sys.argv[1:]]
main()
"""


Clock = Callable[[str, Sequence[str]], float]


def whole_process(python: str, command: Sequence[str]) -> float:
    start = time.perf_counter()
    subprocess.run([python, *command], check=True, capture_output=True)
    return time.perf_counter() - start


def first_measurement(python: str, arguments: Sequence[str]) -> float:
    command = [python, "-c", FIRST_MEASUREMENT, *arguments]
    environment = {**os.environ, "STARTED": repr(time.time())}
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return float(answer.stdout.splitlines()[-1])


def cases_on(device: str) -> dict[str, tuple[Clock, Sequence[str]]]:
    metalbench, run = ("-m", "metalbench"), ("relu", "--device", device)
    return {
        "python -c pass": (whole_process, ("-c", "pass")),
        "python -c 'import metalbench'": (whole_process, ("-c", "import metalbench")),
        "metalbench --help": (whole_process, (*metalbench, "--help")),
        "metalbench list": (whole_process, (*metalbench, "list")),
        "metalbench show relu": (whole_process, (*metalbench, "show", "relu")),
        f"run relu on {device}, until it measures": (first_measurement, run),
        "the same with --in-process": (first_measurement, (*run, "--in-process")),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--beside", help="Python of another environment, for ratios in pairs.")
    options = parser.parse_args()
    os.environ["METALBENCH_HOME"] = tempfile.mkdtemp()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # which is one of the caches
    pythons = [sys.executable, *([options.beside] if options.beside else [])]
    for python in pythons:
        whole_process(python, ("-m", "metalbench", "run", "relu", "--device", options.device))
    for name, (clock, command) in cases_on(options.device).items():
        times = [[clock(python, command) for python in pythons] for _ in range(options.times)]
        times_shown = " ".join(f"{median(column):6.3f} s" for column in zip(*times, strict=True))
        ratios = [each[0] / each[1] for each in times if len(each) > 1]
        print(f"{name:40} {times_shown}", f" {median(ratios):.2f} of the other" if ratios else "")


if __name__ == "__main__":
    main()
