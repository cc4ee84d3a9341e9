"""Sizes at which a kernel is verified, and work that is done once for all of them."""

from __future__ import annotations

from metalbench import _core, reference
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import VerifyPlan, all_sizes, verify


def test_all_sizes_omits_sizes_larger_than_the_measured_one():
    task = Library().entry("relu").task
    every = all_sizes(task)
    assert every[:-1] == ["small", "odd1", "odd2", "seed", "large"]
    assert all_sizes(task, upto="seed")[:-1] == ["small", "odd1", "odd2", "seed"]
    assert all_sizes(task, upto="small")[:-1] == ["small", "odd1", "odd2"]
    assert all_sizes(task, upto="large")[:-1] == every[:-1]
    assert all_sizes(task, upto="huge")[:-1] == list(task.sizes)
    assert task.flops(all_sizes(task, upto="small")[-1]) <= task.flops("small")


def test_reference_errors_are_computed_once_for_each_variation(monkeypatch):
    calls = []
    outputs = reference.outputs

    def counted(work, **options):
        calls.append((work.size, work.variation))
        return outputs(work, **options)

    monkeypatch.setattr(reference, "outputs", counted)
    known = {}
    entry = Library().entry("relu")
    device, kernel, task = _core.open("cpu"), entry.kernel(), entry.task
    for seeds in ([0], [1, 2], [task.turn]):
        report = verify(
            Builds(device, kernel, task),
            VerifyPlan(sizes=["small"], seeds=seeds, reference_errors=known),
        )
        assert report.passed
    assert len(calls) == len(set(calls)) == len(known["small"].errors)
    assert 0 < known["small"].pass_s < 60
