"""Proposals without a model: values first, then transformations, and no repetition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from bad_tunables import write_bad
from steel_session import LONGER, subject_of
from work_in_vain import KERNEL

from agent_steel.attempt import Status
from agent_steel.loop.settings import SearchSubject
from agent_steel.source import source_key, with_source
from agent_steel.tuning.transformations import TRANSFORMATIONS
from agent_steel.tuning.tuner import Tuner, beyond, find_untried
from metalbench import _core, verify
from metalbench.kernel.header import parse
from metalbench.kernel.prepare import Builds
from metalbench.sandbox.resources import Limits
from metalbench.stats import Interval
from metalbench.verify import VerifyPlan

# A thread computes CHUNK adjacent elements. Threads do not share lines. WORK is in vain.
CHUNKED = """// Twice the input.
// dispatch: twice  threads_in_grid=(ceil_div(n, CHUNK))  threads=(TG)
// tune: CHUNK = 16, 4, 1
// tune: TG = 64, 128
#include <metal_stdlib>
using namespace metal;

kernel void twice(device const float* x, device float* y, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
  for (uint k = 0; k < CHUNK; ++k) {
    if (i * CHUNK + k < n) y[i * CHUNK + k] = 2 * x[i * CHUNK + k];
  }
}
"""
PLAIN = """// Twice the input.
// dispatch: twice  threads_in_grid=(n)  threads=(64)
#include <metal_stdlib>
using namespace metal;

[[kernel]] void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  const float v = x[i];
  y[i] = v + v;
}
"""


def test_tunable_values_are_proposed_first(subject: SearchSubject, session: Any) -> None:
    subject = replace(subject, kernel=with_source(subject.kernel, CHUNKED))

    class All(type(session.workers)):  # type: ignore[misc]
        def play(self, device: Any, match: Any, observer: Any) -> Any:
            return super().play(
                device,
                replace(match, before=subject_kernel, after=subject_kernel, tunables=({}, {})),
                observer,
            )

    subject_kernel = parse(KERNEL, name="twice")
    session.workers = All()
    session([subject], Tuner(), max_rounds=40, max_idle_rounds=40, candidates=2, parallel=2)
    attempts = session.history.attempts(subject.place)[1:]
    values = [tuple(sorted(each.tunables.items())) for each in attempts[:5]]
    assert len(set(values)) == 5
    assert {each.technique for each in attempts[:5]} == {"tunables"}
    later = [each.technique for each in attempts[5:]]
    # Recipes of transformations follow, the longest first, with values of their tunables.
    assert later[0] == "peeled tails + unrolled loops"
    assert {"peeled tails", "unrolled loops", "tunables beyond the header's"} <= set(later)
    assert later[-1] == "tunables beyond the header's"
    assert len({each.source_key for each in attempts}) == len(attempts)
    assert {each.status for each in attempts} == {Status.REVERTED}
    assert session.heard.reasons == ["the proposer has nothing left to try"]


def test_beyond_extends_only_known_macros() -> None:
    found = beyond(parse(CHUNKED, name="twice"))
    assert found == {"CHUNK": (16, 4, 1, 32), "TG": (64, 128, 32, 256, 512, 1024)}
    assert beyond(parse(KERNEL, name="twice")) == {"WORK": (400, 0, 100)}


def test_few_values_cover_a_space() -> None:
    space = {"A": (1, 2, 3), "B": (1, 2, 3)}
    tried: dict[tuple[tuple[str, int], ...], float | None] = {(("A", 1), ("B", 1)): 1.0}
    for _ in range(2):
        values = find_untried(space, tried)
        assert values is not None
        tried[tuple(values.items())] = None
    assert {dict(each)["A"] for each in tried} == {dict(each)["B"] for each in tried} == {1, 2, 3}


def test_find_untried_samples_large_spaces_and_scans_without_optuna(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = {"A": tuple(range(20)), "B": tuple(range(20))}
    tried = {(("A", 0), ("B", 0)): 1.0, (("A", 1), ("B", 1)): None}
    first = find_untried(space, tried)
    assert first is not None
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    second = find_untried(space, tried)
    assert second is not None
    for values in (first, second):
        assert tuple(values.items()) not in tried


def test_values_known_from_earlier_sessions_are_not_proposed(
    subject: SearchSubject, session: Any
) -> None:
    session([subject], Tuner(), candidates=2)
    session([subject], Tuner(), candidates=4)
    fates = session.fates(subject)
    assert "repeated" not in fates
    assert (
        sum(each.technique == "tunables" for each in session.history.attempts(subject.place)) == 2
    )


@pytest.mark.parametrize("transformation", TRANSFORMATIONS, ids=lambda each: each.technique)
@pytest.mark.parametrize("source", [PLAIN, CHUNKED, KERNEL], ids=["plain", "chunked", "kernel"])
def test_transformed_kernels_compute_the_same(
    transformation: Any, source: str, subject: SearchSubject
) -> None:
    kernel = with_source(subject.kernel, source)
    for text in transformation.versions(kernel):
        other = with_source(kernel, text)
        assert source_key(other, {}) != source_key(kernel, {})
        report = verify.verify(
            Builds(_core.open("cpu"), other, subject.task), VerifyPlan(seeds=[0])
        )
        assert report.passed, report.findings[0]


APPLY = {
    "vector loads": {"plain", "kernel"},
    "elements per thread": {"plain", "kernel"},
    "threads per threadgroup": {"plain", "kernel"},
    "unrolled loops": {"chunked", "kernel"},
    "peeled tails": {"chunked"},
}


@pytest.mark.parametrize("transformation", TRANSFORMATIONS, ids=lambda each: each.technique)
def test_versions_apply_to_matching_kernels_only(transformation: Any) -> None:
    sources = {"plain": PLAIN, "chunked": CHUNKED, "kernel": KERNEL}
    apply = {
        name
        for name, source in sources.items()
        if list(transformation.versions(parse(source, name="twice")))
    }
    assert apply == APPLY.get(transformation.technique, set())
    assert transformation.needs


SHARED = {
    "a barrier": ("v + v;", "v + v; threadgroup_barrier(mem_flags::mem_device);"),
    "threadgroup memory": ("const float v", "threadgroup float t[64]; const float v"),
    "SIMD-groups": ("v + v", "simd_sum(v)"),
    "another position": ("uint i [[", "uint t [[thread_index_in_threadgroup]], uint i [["),
    "atomics": ("device float* y", "device atomic_float* y"),
    "two dimensions": (
        "threads_in_grid=(n)  threads=(64)",
        "threads_in_grid=(n, n)  threads=(8, 8)",
    ),
    "threadgroups": ("threads_in_grid=(n)", "threadgroups=(n)"),
}


@pytest.mark.parametrize("what", SHARED)
def test_kernels_with_cooperating_threads_or_other_grids_are_not_transformed(what: str) -> None:
    part, other = SHARED[what]
    assert part in PLAIN
    kernel = parse(PLAIN.replace(part, other), name="twice")
    assert not [each.technique for each in TRANSFORMATIONS if list(each.versions(kernel))]


def test_bad_tunables_are_found_out(subject: SearchSubject, session: Any) -> None:
    (searches,) = session(
        [subject], Tuner(), real=Limits(60), plan=LONGER, max_rounds=1, candidates=2
    ).searches
    assert searches.improved
    assert searches.best.tunables["WORK"] in (0, 100)
    assert isinstance(searches.best.ratio, Interval)
    assert searches.best.ratio.low > 1.2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["relu", "softmax", "sqr_mm"])
def test_tuning_of_bad_defaults_gains_a_fifth(name: str, tmp_path: Any, session: Any) -> None:
    """The figure that is promised, at the device's own sizes: on a quiet machine."""
    from metalbench.measure.measurement import Plan

    write_bad(tmp_path, name)
    subject = subject_of(tmp_path, name)
    plan = Plan(seconds=1.0)
    (searches,) = session(
        [subject], Tuner(), real=Limits(600), plan=plan, max_rounds=5, candidates=4
    ).searches
    assert searches.gain >= 1.2
    assert searches.reason
