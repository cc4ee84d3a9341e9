"""The same candidates under different targets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from example_results import measurement
from steel_session import Scripted, proposal
from work_in_vain import Simulated, kernel_with

from agent_steel.attempt import Status
from agent_steel.loop.profiler import Profiler
from agent_steel.loop.settings import SearchSubject
from agent_steel.proposal import Diagnosis
from metalbench.compare.head_to_head import Match, MatchOutcome
from metalbench.measure.analysis import Target
from metalbench.run.trial import Observer
from metalbench.stats import assess
from metalbench.store.result import DeviceFacts

PAIRS = 256
FASTER = f"{kernel_with(100)}// SCATTER 0.05\n"
STEADIER = f"{kernel_with(400)}// SCATTER 0.002\nconstant int another = 1;\n"


def scatter_of(source: str) -> float:
    _, found, rest = source.partition("// SCATTER ")
    return float(rest.split("\n")[0]) if found else 0.01


class Scattering(Simulated):
    """Times that scatter as far as a text says."""

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> MatchOutcome:
        (self.played if match.held_out is None else self.held_out).append(match)
        random = np.random.default_rng(match.plan.seed)
        before, after = (
            (1000.0 + kernel.resolve_tunables()["WORK"])
            * np.exp(scatter_of(kernel.source) * random.normal(0, 1, PAIRS))
            for kernel in (match.before, match.after)
        )
        judged, measured = assess(before, after), measurement(pairs=PAIRS)
        samples = replace(measured.samples, candidate_ns=after, reference_ns=before)
        told = replace(measured, samples=samples, ratio=judged.ratio, verdict=judged.verdict)
        return MatchOutcome(device, None, told, 0.0, 1.0)


@pytest.mark.parametrize(
    ("target", "fates", "best"),
    [
        (Target.SPEED, [Status.KEPT, Status.REVERTED], "faster"),
        (Target.STABLE, [Status.REVERTED, Status.KEPT], "steadier"),
        (Target.BALANCED, [Status.REVERTED, Status.KEPT], "steadier"),
        (Target.MEMORY, [Status.KEPT, Status.REVERTED], "faster"),
    ],
)
def test_two_targets_keep_different_candidates(
    target: Target, fates: list[Status], best: str, subject: SearchSubject, session: Any
) -> None:
    session.workers = Scattering()
    answers = [proposal(FASTER, "faster"), proposal(STEADIER, "steadier")]
    (searches,) = session([subject], Scripted(answers), candidates=2, target=target).searches
    _, *attempts = session.history.attempts(subject.place)
    assert [each.status for each in attempts] == fates, [each.error for each in attempts]
    assert searches.best.technique == best
    assert searches.improved
    steadiness = attempts[1].steadiness
    assert steadiness is not None
    if best == "steadier":
        assert searches.gain == pytest.approx(1.0, rel=0.01)
        assert searches.steadiness == pytest.approx(steadiness.value)
        assert steadiness.low > 2.0


@pytest.mark.parametrize(("target", "enough"), [(Target.SPEED, 0.02), (Target.STABLE, 0.0)])
def test_sampling_for_a_scatter_target_does_not_end_early(
    target: Target, enough: float, subject: SearchSubject, session: Any
) -> None:
    session.workers = Scattering()
    session([subject], Scripted([proposal(STEADIER)]), target=target)
    played = session.workers.played
    assert {each.plan.settled_half_width for each in played} == {enough}


@pytest.mark.parametrize(("target", "asked"), [(Target.MEMORY, 1), (Target.COMPUTE, 0)])
def test_kernels_with_other_bounds_are_skipped(
    target: Target,
    asked: int,
    subject: SearchSubject,
    session: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound = Diagnosis("memory", "Memory is the nearer roof.")
    monkeypatch.setattr(Profiler, "diagnose", lambda *_: bound)
    proposer = Scripted([proposal(kernel_with(100))])
    (searches,) = session([subject], proposer, target=target).searches
    assert proposer.asked == asked
    if not asked:
        assert searches.reason == "memory bounds it, and --target compute is for others"
