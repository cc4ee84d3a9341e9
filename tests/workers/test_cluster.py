"""A Ray cluster of this machine: one process is killed, and that costs one repetition."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep

import pytest
import samples

from metalbench.kernelbench.folder import read_plan
from metalbench.store.history import Evaluation
from metalbench.store.store import Store

pytestmark = pytest.mark.slow
SAMPLES = 40
SECONDS = 300.0
LOST = "done again"


def command_for(folder: Path) -> list[str]:
    """The command that evaluates SAMPLES samples, all different, every fourth of them wrong."""
    texts = (samples.WRONG if each % 4 == 3 else samples.RIGHT for each in range(SAMPLES))
    numbered = [f"// {folder} {number}\n{text}" for number, text in enumerate(texts)]
    root = samples.write_samples(folder / "run", [numbered])
    kernels = samples.tasks_in(folder / "kernels")
    where = ["--kernels", str(kernels), "--db", str(folder / "results.db")]
    options = ["--device", "cpu", "--time", "0.05", "--workers", "2", "--cluster", "local"]
    return [sys.executable, "-m", "metalbench", "evaluate", str(root), *where, *options]


def slots_beneath(parent: int) -> list[int]:
    """Ray's processes beneath `parent` that a sample is being tried in."""
    told = ["ps", "-eo", "pid=,ppid=,args="]
    listed = subprocess.run(told, capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    beneath = {parent}
    for _ in range(4):
        beneath |= {int(own) for own, above, _ in rows if int(above) in beneath}
    return [
        int(own)
        for own, _, args in rows
        if int(own) in beneath and "ray::ClusterWorker.ask" in args
    ]


def kill_one(command: int) -> bool:
    """End one of them, as soon as there is one; false if there was none for half a minute."""
    end = monotonic() + 30
    while monotonic() < end:
        if slots := slots_beneath(command):
            os.kill(slots[-1], signal.SIGKILL)
            return True
        sleep(0.2)
    return False


def evaluated(folder: Path) -> tuple[list[Evaluation], int]:
    """Return the outcomes of the samples, and the number of their rows."""
    with Store(folder / "results.db") as store:
        found = store.evaluations(read_plan(folder / "run").id)
        with store.reading() as connection:
            (rows,) = connection.execute("SELECT count(*) FROM evaluations").fetchone()
    return list(found), int(rows)


def test_a_killed_process_costs_one_repetition_and_no_two_timings_overlap(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    said: list[str] = []
    with subprocess.Popen(
        command_for(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as command:
        too_long = threading.Timer(SECONDS, command.kill)
        too_long.start()
        assert command.stderr is not None
        for line in command.stderr:
            said.append(line)
            if line.startswith("[5/"):
                assert kill_one(command.pid), "".join(said)
        too_long.cancel()
    assert command.returncode == 0, "".join(said)
    assert sum(LOST in each for each in said) == 1, "".join(said)
    found, rows = evaluated(tmp_path)
    assert rows == len(found) == SAMPLES
    wrong = {each.place.sample for each in found if each.outcome == "wrong result"}
    assert wrong == set(range(3, SAMPLES, 4))
    assert sum(each.outcome == "correct" for each in found) == SAMPLES - len(wrong)
    timed = sorted(
        (each.measured_from, each.measured_to)
        for each in found
        if each.measured_from is not None and each.measured_to is not None
    )
    assert len(timed) >= SAMPLES - len(wrong)
    assert all(before[1] <= after[0] for before, after in pairwise(timed))
