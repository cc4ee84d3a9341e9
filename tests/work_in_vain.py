"""A small task whose kernel works in vain for a given time, and players that need no device."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from time import monotonic

from example_results import correct, measurement

from metalbench.compare.head_to_head import Match, MatchOutcome
from metalbench.run.trial import Observer, Trial
from metalbench.store.result import DeviceFacts, Failure, Result

TASK = '''"""Twice the input."""

from metalbench.task import normal, output, task

@task(
    sizes=dict(small=dict(n=100), odd1=dict(n=77), seed=dict(n=4096)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    flops="n",
    headline="seed",
)
def NAME(x):
    return x + x
'''
# WORK is in vain, so that less of it is faster.
KERNEL = """// Twice the input.
// dispatch: twice  threads_in_grid=(n)  threads=(64)
// tune: WORK = 400, 0, 100
#include <metal_stdlib>
using namespace metal;

kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  float v = x[i];
  for (uint k = 0; k < WORK; ++k) {
    v = fma(v, 1.0000001f, 1e-30f);
  }
  y[i] = v == 12345.0f ? 0.0f : 2 * x[i];
}
"""


def kernel_with(*work: int) -> str:
    """The kernel with these values of WORK, of which the first is its default."""
    return KERNEL.replace("400, 0, 100", ", ".join(map(str, work)))


def folder_with(folder: Path, name: str = "twice", kernel: str = KERNEL) -> Path:
    """A folder with the task as `name`, and a kernel."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(TASK.replace("NAME", name))
    (folder / f"{name}.metal").write_text(kernel)
    return folder


class Simulated:
    """Plays matches and makes trials by reading texts: a pass takes as long as WORK says.

    Matches in held-out cases are in `held_out`, others in `played`. A text with WRONG in it is
    wrong, and so is any with one of the values `wrong` of WORK.
    """

    def __init__(self, wrong: Container[int] = ()) -> None:
        self.played: list[Match] = []
        self.held_out: list[Match] = []
        self._wrong = wrong

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> MatchOutcome:
        (self.played if match.held_out is None else self.held_out).append(match)
        before, after = (
            kernel.resolve_tunables(tunables)["WORK"]
            for kernel, tunables in zip((match.before, match.after), match.tunables, strict=True)
        )
        if "WRONG" in match.after.source or after in self._wrong:
            failure = Failure("verify", "WRONG_RESULT", "it is wrong")
            return MatchOutcome(device, failure, wrong=match.names[1])
        if not match.timed:
            return MatchOutcome(device)
        began = monotonic()
        ratio = (1000.0 + before) / (1000.0 + after)
        measured = measurement(match.plan.seed, 1000.0 + after, reference=ratio)
        return MatchOutcome(device, None, measured, began, monotonic())

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        return correct(trial.entry.name)
