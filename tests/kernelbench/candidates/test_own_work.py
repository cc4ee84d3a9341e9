"""Distinguish candidates that need their kernels from those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from candidates import decoys

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernelbench.candidates.attempt import CallTiming
from metalbench.kernelbench.candidates.candidate import Candidate
from metalbench.kernelbench.candidates.own_work import Overhead
from metalbench.kernelbench.candidates.source import parse
from metalbench.task.dtypes import dtype
from metalbench.task.workload import workload

ENTRY = Library().entry("sqr_mm")


def lacks(text: str) -> tuple[str, str]:
    """Return the faults of a candidate by data flow and probes, without shares."""
    kernel = parse(text, name="sqr_mm", path=Path("answer.py"))
    work = workload(ENTRY.task, "small", dtype_name="float32", seed=1)
    with Candidate(_core.open("cpu"), kernel, ENTRY.task, dtype("float32")) as candidate:
        candidate.call(candidate.bind(work).dispatches[0])
        slot = candidate.bind(work)
        candidate.call(slot.dispatches[0])
        assert slot.examiner().judge_last_run().passed
        timing = CallTiming(candidate, candidate, work)
        timing.window(1)
        return timing.find_missing_work(Overhead(1e12, 1e12)), timing.probe()


def of(variants: dict[str, str], *quick: str) -> list[object]:
    """The variants as parameters, most of them slow: each starts processes that import MLX."""
    return [
        pytest.param(text, id=name, marks=() if name in quick else pytest.mark.slow)
        for name, text in variants.items()
    ]


@pytest.mark.parametrize("text", of(decoys.DECOYS, "what it wrote is checked"))
def test_decoys_are_found_by_the_probes(text: str) -> None:
    _, probed = lacks(text)
    assert probed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a factor", "a factor after a loop", "a factor for each row"])
def test_decoys_with_few_writes_are_found_by_data_flow(name: str) -> None:
    flow, _ = lacks(decoys.DECOYS[name])
    assert "they had room for" in flow


@pytest.mark.parametrize("text", of(decoys.HONEST, "halves of sums, added by MLX"))
def test_honest_candidates_are_accepted(text: str) -> None:
    assert lacks(text) == ("", "")
