"""Two kernels in turn, on a GPU that nothing may reach before its checked run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from scripted_gpu import ScriptedGpu

from metalbench import _core, verify
from metalbench.compare.head_to_head import Contest, WrongKernelError, check_side, head_to_head
from metalbench.kernel.header import Kernel, parse
from metalbench.kernel.library import Library
from metalbench.measure.measurement import Plan
from metalbench.task import normal, output, task

SOURCE = """
// The larger of x and 0.
// dispatch: relu  threads_in_grid=(rows * cols)  threads=(256)
#include <metal_stdlib>
using namespace metal;
kernel void relu(device const float* x, device float* y, constant uint& rows, constant uint& cols,
                 uint i [[thread_position_in_grid]]) {
  y[i] = max(x[AT], 0.0f);
}
"""


class Untouched(ScriptedGpu):
    """A GPU on which nothing may run."""

    def run(self, *_: Any, **__: Any) -> float:
        raise AssertionError("it has reached the GPU")

    sample = run


def relu(at: str) -> Kernel:
    return parse(SOURCE.replace("AT", at), name="relu")


def test_a_kernel_with_findings_does_not_reach_the_gpu() -> None:
    task = Library().entry("relu").task
    contest = Contest(task, relu("i + 1"), relu("i"), ("relu@HEAD~1", "relu"))
    with pytest.raises(WrongKernelError, match=r"relu@HEAD~1 is not correct.*past the end of `x`"):
        head_to_head(Untouched(), contest)


def test_check_side_verifies_each_seed_of_a_size_once(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[str, int]] = []
    repeated: list[str] = []

    def record(_: object, plan: verify.VerifyPlan) -> verify.Report:
        assert plan.sizes is not None
        assert plan.seeds is not None
        done.extend((size, seed) for size in plan.sizes for seed in plan.seeds)
        repeated.extend(plan.sizes if plan.repeat else ())
        return verify.Report()

    task = Library().entry("relu").task
    kernel = relu("i")
    contest = Contest(task, kernel, kernel, ("before", "after"), size="seed", thorough=True)
    contest = replace(contest, also_sizes=("odd1",))
    monkeypatch.setattr(verify, "verify", record)
    check_side(_core.open("cpu"), contest, 1)
    sizes = verify.all_sizes(task, upto="seed")
    expected = [(each, seed) for each in sizes for seed in verify.seeds_for(task, each)]
    assert sorted(done) == sorted(expected)
    assert sorted(repeated) == sorted(sizes)


@task(
    sizes=dict(seed=dict(n=4096)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    flops="n",
)
def doubled(x):
    return x + x


# Much work, and one of both does it only where its result is not there already.
WORKS = """
// Twice x.
// dispatch: doubled  threads_in_grid=(n)  threads=(64)
#include <metal_stdlib>
kernel void doubled(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  LOOK
  volatile float sum = 0;
  for (int k = 0; k < 1000; ++k) sum = sum + x[i];
  y[i] = 2 * x[i];
}
"""
PLAN = Plan(seconds=0.05, warmup_ns=1_000_000, first_analysis=8, min_pairs=2, max_pairs=16)


def test_outputs_do_not_hold_the_result_of_the_other_kernel() -> None:
    works = parse(WORKS.replace("LOOK", ""), name="doubled")
    looks = parse(WORKS.replace("LOOK", "if (y[i] == 2 * x[i]) return;"), name="doubled")
    for before, after in ((works, looks), (looks, works)):
        contest = Contest(doubled, before, after, ("before", "after"), plan=PLAN)
        comparison, measured = head_to_head(_core.open("cpu"), contest)
        assert measured.ratio is not None
        assert 1 / 3 < measured.ratio.value < 3
        # Both are of one pass, though a window's go round two sets of inputs.
        (compared,) = comparison.compared
        assert 1 / 3 < compared.before_ns.value / compared.after_ns.value < 3
