"""A candidate's process: stopped between calls, timed from outside, and never trusted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from metalbench import _core
from metalbench.errors import DispatchError, KernelDied
from metalbench.kernel.library import Library
from metalbench.kernelbench.candidates.candidate import Candidate, layout
from metalbench.kernelbench.candidates.source import parse
from metalbench.task.dtypes import dtype
from metalbench.task.workload import Workload, workload

TASK = Library().entry("relu").task
CandidateStart = Callable[[str], Candidate]


@pytest.fixture
def start() -> Iterator[CandidateStart]:
    """Candidates for relu, which end with the test."""
    made: list[Candidate] = []

    def one(text: str) -> Candidate:
        kernel = parse(text, name="relu", path=Path("answer.py"))
        made.append(Candidate(_core.open("cpu"), kernel, TASK, dtype("float32")))
        return made[-1]

    yield one
    for each in made:
        each.end()


def work() -> Workload:
    return workload(TASK, "small", seed=7)


def output(candidate: Candidate) -> np.ndarray:
    slot = candidate.bind(work())
    ns = candidate.device.run(slot.dispatches, time_limit=10.0)
    assert ns > 0
    return slot.read("y").copy()


def test_a_candidate_does_not_run_between_two_calls(start: CandidateStart) -> None:
    """A thread notes the longest time that it did not come to its turn, and its turns since."""
    candidate = start(
        "import dataclasses\nimport mlx.core as mx\n\n"
        "modules = dataclasses.sys.modules\nmonotonic = modules['time'].monotonic\n"
        "turns = [monotonic()]\n\n\n"
        "def turn():\n"
        "    while True:\n"
        "        turns.append(monotonic())\n"
        "        modules['time'].sleep(0.001)\n\n\n"
        "modules['threading'].Thread(target=turn, daemon=True).start()\n\n\n"
        "def relu(x):\n"
        "    before = len(turns)\n"
        "    while len(turns) == before:\n"
        "        modules['time'].sleep(0.001)\n"
        "    gaps = [b - a for a, b in zip(turns, turns[1:])]\n"
        "    return mx.full(x.shape, max(gaps))\n"
    )
    output(candidate)
    pause = 0.5
    time.sleep(pause)
    assert float(output(candidate).max()) >= pause


def test_an_impossible_call_is_reported_with_the_reason(start: CandidateStart) -> None:
    with pytest.raises(DispatchError, match=r"ModelNew\(width\): expected a constructor without"):
        output(start("class ModelNew:\n    def __init__(self, width):\n        pass\n"))


def test_an_exception_of_a_module_is_reported_with_its_line(start: CandidateStart) -> None:
    text = "class ModelNew:\n    def forward(self, x):\n        return x + missing\n"
    with pytest.raises(KernelDied, match=r"answer.py:3: NameError: name 'missing'") as caught:
        output(start(text))
    assert caught.value.kind == "CRASH"


def test_parameters_of_a_module_are_set_by_their_names(start: CandidateStart) -> None:
    """KernelBench's modules hold what they learn; here it is the task's second input."""
    entry = Library().entry("kb1_040_layer_norm")
    text = (
        "import mlx.core as mx\nimport mlx.nn as nn\n\n\n"
        "class ModelNew(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.ln = nn.LayerNorm(4)\n\n"
        "    def forward(self, anything):\n"
        "        weight, bias = self.ln.weight, self.ln.bias\n"
        "        axes = tuple(range(-weight.ndim, 0))\n"
        "        mean = mx.mean(anything, axis=axes, keepdims=True)\n"
        "        variance = mx.var(anything, axis=axes, keepdims=True)\n"
        "        return (anything - mean) * mx.rsqrt(variance + 1e-5) * weight + bias\n"
    )
    kernel = parse(text, name=entry.name, path=Path("answer.py"))
    with Candidate(_core.open("cpu"), kernel, entry.task, dtype("float32")) as candidate:
        slot = candidate.bind(workload(entry.task, "small", seed=3))
        assert slot.examiner().examine().passed
        assert [each.name for each in layout(slot.workload).inputs][1:] == ["ln_weight", "ln_bias"]
