"""How long a user waits: for an import, for help, and for a run to begin to measure.

    python benchmarks/startup.py

Whole processes, warm caches, medians; a bare interpreter in the same run for comparison.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

# Runs the command line as a user does, and says when the first kernel enters the measuring stage.
FIRST_MEASUREMENT = """
import os, sys, time
from metalbench.cli import run
from metalbench.cli.group import main
shown = run._progress
def announcing(*arguments):
    progress = shown(*arguments)
    def announced(stage):
        if stage.name == "MEASURE":
            print(time.time() - float(os.environ["STARTED"]), flush=True)
            os._exit(0)
    progress.stage_started = announced
    return progress
run._progress = announcing
sys.argv = ["metalbench", "run", "relu", "softmax", *sys.argv[1:]]
main()
"""


def whole_process(*command: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def first_measurement(*command: str) -> float:
    environment = {**os.environ, "STARTED": repr(time.time())}
    answer = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(answer.stdout.splitlines()[-1])


def main() -> None:
    os.environ["METALBENCH_HOME"] = tempfile.mkdtemp()
    python = sys.executable
    whole_process(python, "-m", "metalbench", "run", "relu", "softmax")
    cases = {
        "python -c pass": (whole_process, (python, "-c", "pass")),
        "python -c 'import metalbench'": (whole_process, (python, "-c", "import metalbench")),
        "metalbench --help": (whole_process, (python, "-m", "metalbench", "--help")),
        "metalbench list": (whole_process, (python, "-m", "metalbench", "list")),
        "run relu softmax, until it measures": (
            first_measurement,
            (python, "-c", FIRST_MEASUREMENT),
        ),
        "the same with --in-process": (
            first_measurement,
            (python, "-c", FIRST_MEASUREMENT, "--in-process"),
        ),
    }
    for name, (clock, command) in cases.items():
        times = [clock(*command) for _ in range(7)]
        print(f"{name:38} {sorted(times)[len(times) // 2]:6.3f} s")


if __name__ == "__main__":
    main()
