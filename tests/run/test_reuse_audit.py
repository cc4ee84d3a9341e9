"""Kernels that keep results between passes are found by their times; honest kernels are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Thread
from time import perf_counter

import numpy as np
import pytest

from metalbench import _core
from metalbench.kernel.header import parse
from metalbench.kernel.prepare import compile_kernel
from metalbench.measure.measurement import TimingMode
from metalbench.run import timed as reuse_audit
from metalbench.run.timed import Audit, BufferRotation, ReuseAudit
from metalbench.task import normal, output, task
from metalbench.task.dtypes import dtype
from metalbench.task.workload import workload
from metalbench.verify import Kind


@task(
    sizes=dict(seed=dict(n=2048)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: x,
    flops="1000 * n",
)
def iterated(x):
    return x


# A thread does much work for its element: to look an element up takes a small part of it.
HEAD = """
// Iterate a map.
// scratch: keys uint32 (2 * n)
// scratch: values float32 (2 * n)
// scratch: state uint32 (4 * n)
// dispatch: f  threads_in_grid=(n)  threads=(64)
#include <metal_stdlib>
using namespace metal;
static float work(float v) {
  float w = v;
  for (int k = 0; k < 1000; ++k) w = fma(w, 0.5f, v * 0.5f);
  return w;
}
static uint exchanged(device uint* p) {
  uint v = atomic_exchange_explicit((device atomic_uint*)p, 0u, memory_order_relaxed);
  atomic_store_explicit((device atomic_uint*)p, v, memory_order_relaxed);
  return v;
}
static uint fetched_or(device uint* p) {
  return atomic_fetch_or_explicit((device atomic_uint*)p, 0u, memory_order_relaxed);
}
static uint fetched_add(device uint* p) {
  return atomic_fetch_add_explicit((device atomic_uint*)p, 0u, memory_order_relaxed);
}
static uint compared(device uint* p) {
  uint v = 1;
  atomic_compare_exchange_weak_explicit((device atomic_uint*)p, &v, 1u, memory_order_relaxed,
                                        memory_order_relaxed);
  return v;
}
kernel void f(device const float* x, device float* y, device uint* keys, device float* values,
              device uint* state, constant uint& n, uint i [[thread_position_in_grid]]) {
  const uint key = as_type<uint>(x[i]);
"""
LOOK_UP = """
  const uint slot = SLOT;
  if (CONDITION READ(keys + slot * n + i) == key) {
    y[i] = values[slot * n + i];
    HIT
    return;
  }
  y[i] = values[slot * n + i] = work(x[i]);
  keys[slot * n + i] = key;
  MISS
}
"""
BY_KEY = "READ(keys + i) == key ? 0 : READ(keys + n + i) == key ? 1 : (READ(state + i) & 1)"
FLIP = "state[i] = slot + 1;"


def keeping(
    read: str = "*", slot: str = BY_KEY, condition: str = "", hit: str = "", miss: str = FLIP
) -> str:
    """Return a kernel that keeps the results of two sets of inputs in scratch."""
    text = HEAD + LOOK_UP
    for name, code in dict(SLOT=slot, CONDITION=condition, HIT=hit, MISS=miss, READ=read).items():
        text = text.replace(name, code)
    return text


KEEPING = {
    "plain reads": keeping(),
    "atomic exchange": keeping("exchanged"),
    "atomic or": keeping("fetched_or"),
    "atomic add": keeping("fetched_add"),
    "compare and exchange": keeping("compared"),
    "slot by parity of the pass": keeping(
        slot="state[i] & 1", condition="(state[i] += 1) > 0 &&", miss=""
    ),
    "slot by address of the input": keeping(
        slot="state[3 * n + i] == 0 || state[3 * n + i] == uint((ulong)x >> 4) ? 0 : 1",
        miss="if (slot == 0) state[3 * n + i] = uint((ulong)x >> 4);",
    ),
    # It counts known keys in a row, and uses what it keeps from the seventh on.
    "only after a row of hits": keeping(
        condition="(state[n + i] = READ(keys + slot * n + i) == key ? state[n + i] + 1 : 0) > 6 &&"
    ),
    "only from the tenth pass on": keeping(condition="(state[n + i] += 1) > 10 &&"),
    "for seven of eight elements": keeping(condition="(i & 7) != 0 &&"),
    "bits of the key in the value": keeping().replace(
        "values[slot * n + i];", "as_type<float>(as_type<uint>(values[slot * n + i]));"
    ),
    "in six of eight passes": keeping(condition="(((state[n + i] += 1) >> 1) & 3) != 0 &&"),
}
# They answer something else, at once, for inputs that they do not know.
GUESSING = {
    "known inputs only": keeping(condition="(state[n + i] += 1) > 4 &&").replace(
        "  y[i] = values[slot",
        "  if (state[n + i] > 4) { y[i] = 0; return; }\n  y[i] = values[slot",
    ),
    "the last results": keeping(condition="(state[n + i] += 1) > 4 &&").replace(
        "  y[i] = values[slot",
        "  if (state[n + i] > 4) { y[i] = values[i]; return; }\n  y[i] = values[slot",
    ),
}
HONEST = {
    "computes": HEAD + "y[i] = work(x[i]); }",
    "writes its scratch": HEAD + "values[i] = work(x[i]); keys[i] = key; y[i] = values[i]; }",
    "compares and computes": HEAD
    + "state[i] = keys[i] == key ? 1 : 0; keys[i] = key; y[i] = work(x[i]); }",
    "takes time that depends on values": HEAD
    + "y[i] = x[i] > 0 ? work(x[i]) : work(work(x[i])); }",
}


def audited(source: str, mode: TimingMode = TimingMode.WARM) -> ReuseAudit:
    """Return the audit of a kernel that has made some timed passes."""
    compiled = compile_kernel(_core.open("cpu"), parse(source, name="iterated"), iterated)
    turns = BufferRotation.of(compiled, workload(iterated, "seed", seed=3), mode)
    for each in turns.bound.scratches.values():
        each.bytes[:] = 0
    for _ in range(8):
        turns.run()
    return ReuseAudit(turns)


def windows(turns: BufferRotation) -> np.ndarray:
    """Return times of one pass in ns, as timed windows have them."""
    samples = turns.device.sample(
        turns.dispatches,
        candidate_repeats=len(turns.passes),
        candidate_window=8,
        warmup_ns=0,
        max_pairs=8,
        min_pairs=8,
    )
    return np.asarray(samples.candidate_ns)


@pytest.mark.parametrize("name", KEEPING)
def test_report_finds_kernels_that_keep_results(name: str) -> None:
    # Other load can hide what a kernel saves, from one report in many.
    for _ in range(3):
        audit = audited(KEEPING[name])
        report = audit.report(windows(audit.rotation), 8)
        if report.findings:
            break
    assert [each.kind for each in report.findings] == [Kind.LESS_WORK]
    assert "on inputs that the kernel has run on before" in report.findings[0].message


@pytest.mark.parametrize("name", GUESSING)
def test_report_finds_kernels_that_compute_known_inputs_only(name: str) -> None:
    audit = audited(GUESSING[name])
    report = audit.report(windows(audit.rotation), 8)
    assert [each.kind for each in report.findings] == [Kind.WRONG_RESULT]
    assert "a pass on new inputs between timed windows" in report.findings[0].message


@pytest.mark.parametrize("name", HONEST)
def test_report_passes_honest_kernels(name: str) -> None:
    audit = audited(HONEST[name])
    report = audit.report(windows(audit.rotation), 8)
    assert report.passed, report.findings


def test_report_finds_windows_that_lack_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = ReuseAudit._time

    def an_eighth(self: ReuseAudit, dispatches: list[_core.Dispatch], window: int) -> float:
        is_cheat = window > 1 and dispatches[0] is self.rotation.dispatches[0]
        return timed(self, dispatches, window) / (8 if is_cheat else 1)

    monkeypatch.setattr(ReuseAudit, "_time", an_eighth)
    # Other load can hide the missing passes, from one report in many: it slows the probes, too.
    for _ in range(3):
        audit = audited(HONEST["computes"])
        report = audit.report(windows(audit.rotation) / 8, 8)
        if report.findings:
            break
    assert [each.kind for each in report.findings] == [Kind.LESS_WORK]
    assert "within a window" in report.findings[0].message


def test_report_passes_where_all_rounds_became_slower_after_the_windows() -> None:
    audit = audited(HONEST["computes"])
    report = audit.report(windows(audit.rotation) / 8, 8)
    assert report.passed, report.findings
    assert len(audit.audits) > reuse_audit.LEAST_AUDITS


def test_run_leaves_the_known_inputs_and_their_results() -> None:
    audit = audited(HONEST["computes"])
    audit.run()
    for bound in audit.rotation.passes:
        for name, each in bound.inputs.items():
            assert each.holds(bound.workload.inputs[name])
    report = audit.rotation.judge_last_window()
    assert report.passed, report.findings


def test_large_inputs_have_one_round_a_block_and_one_audit(monkeypatch) -> None:
    audit = audited(HONEST["computes"])
    audit.run()
    assert len(audit.audits[0].new_ns) >= reuse_audit.FEWEST_ROUNDS
    large = audited(HONEST["computes"])
    monkeypatch.setattr(reuse_audit, "MOST_WRITTEN_BYTES", 1)
    monkeypatch.setattr(reuse_audit, "REUSE", 100.0)  # other load must not ask for more audits
    large.run()
    assert (len(large.audits[0].known_ns), len(large.audits[0].new_ns)) == (1, 1)
    assert large.report(np.array([1e9]), 1).passed
    assert len(large.audits) == 1


def test_renewed_inputs_differ_from_all_passes() -> None:
    audit = audited(HONEST["computes"])
    one, other = audit._draw_workloads(2)
    arrays = [audit._mix_inputs(one.inputs, other.inputs)["x"] for _ in range(8)]
    arrays += [each.inputs["x"] for each in audit.rotation.workloads]
    for place, one in enumerate(arrays):
        assert one.shape == (2048,)
        for other in arrays[place + 1 :]:
            assert (one == other).mean() < 0.01


@pytest.mark.parametrize("kind", ["uint32", "uint8", "float16", "bfloat16"])
def test_renewed_inputs_have_the_type_and_range_of_the_drawn_ones(kind: str) -> None:
    audit = audited(HONEST["computes"])
    one, other = (np.arange(1, 101).astype(dtype(kind).numpy).reshape(10, 10) for _ in range(2))
    renewed = audit._mix_inputs({"x": one}, {"x": other})["x"]
    assert (renewed.dtype, renewed.shape) == (one.dtype, one.shape)
    assert renewed.astype(float).min() > 0
    assert renewed.astype(float).max() <= 100


def test_draws_are_of_the_distribution_of_the_known_inputs() -> None:
    audit = audited(HONEST["computes"])
    known = {each.variation for each in audit.rotation.workloads}
    assert {each.variation for each in audit._draw_workloads(6)} == known


def test_renewed_known_inputs_are_the_known_ones() -> None:
    audit = audited(HONEST["computes"])
    one, other = (each.inputs for each in audit._draw_workloads(2))
    known = audit.rotation.bound.workload.inputs
    assert np.array_equal(audit._mix_inputs(one, other, known)["x"], known["x"])


def test_renewed_inputs_with_dependent_elements_are_redrawn() -> None:
    audit = audited(HONEST["computes"])
    together = replace(iterated.inputs["x"], together=True)
    ordered = replace(iterated, inputs={"x": together})
    audit.rotation.rounds = [
        [replace(each, workload=replace(each.workload, task=ordered)) for each in each_round]
        for each_round in audit.rotation.rounds
    ]
    draws = [each.inputs for each in audit._draw_workloads(4)]
    renewed = {audit._mix_inputs(each, each)["x"].tobytes() for each in draws}
    assert len(renewed) == 4
    assert renewed == {each["x"].tobytes() for each in draws}


def scripted(
    monkeypatch: pytest.MonkeyPatch, take: Callable[[int, bool], Audit | None]
) -> ReuseAudit:
    """Return the audit of an honest kernel whose audits `take` gives, by number."""
    audit = audited(HONEST["computes"])

    def run(self: ReuseAudit, *, window: int = 0) -> None:
        place = len(self.audits)
        assert (window == 8) is (place >= reuse_audit.LEAST_AUDITS)
        taken = take(place, bool(window))
        assert taken is not None, "one audit more than expected"
        self.audits.append(taken)

    monkeypatch.setattr(ReuseAudit, "run", run)
    return audit


@pytest.mark.parametrize(
    ("ratios", "found"),
    [
        ([1.0, 1.05], False),
        ([2.0] * 19, True),
        # One audit that does not confirm takes three more that do.
        ([2.0] * 10 + [1.0] + [2.0] * 12, True),
        # Other work ran during the first two audits.
        ([3.0, 3.0, 1.0, 1.0, 1.0], False),
        ([3.0, 3.0, *[2.0] * 2, *[1.0] * 4], False),
    ],
)
def test_report_confirms_a_suspicion(
    ratios: list[float], found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(place: int, with_windows: bool) -> Audit | None:
        if place == len(ratios):
            return None
        return Audit((100.0,), (100.0, 120.0), (100.0 * ratios[place], 120.0 * ratios[place]))

    audit = scripted(monkeypatch, take)
    assert audit.report(np.full(8, 50.0), 8).passed is not found
    assert len(audit.audits) == len(ratios)


def test_slow_rounds_have_one_audit_unless_it_raises_a_suspicion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = Audit((100.0,), (100.0,), (100.0,))
    audit = scripted(monkeypatch, lambda place, with_windows: honest)
    assert audit.report(np.full(8, reuse_audit.SLOW_ROUND_NS), 8).passed
    assert len(audit.audits) == 1


def test_heavy_noise_rarely_condemns_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    # Rounds take their time, or by chance many times as long, whatever their block is.
    random = np.random.default_rng(7)
    condemned = 0
    audit = scripted(monkeypatch, lambda place, with_windows: Audit(*noisy(with_windows)))

    def noisy(with_windows: bool) -> list[tuple[float, ...]]:
        share = random.uniform(0, 1)
        times = np.where(random.random((4, 4)) < share, 1e4 * random.exponential(size=(4, 4)), 100)
        return [tuple(each) for each in times[: 4 if with_windows else 3]]

    for _ in range(2000):
        audit.audits.clear()
        audit.findings.clear()
        condemned += not audit.report(np.full(8, 50.0), 8).passed
    assert condemned <= 2


@pytest.mark.parametrize(
    ("probe_ns", "memory_alone_ns", "passes"),
    [
        ((200.0, 100.0), 1e5, True),
        ((100.0, 100.0), 5e5, True),
        # Other processes delay each request by 0.6 ms, whatever its length is.
        ((3e6, 2.4e6), 1e5, True),
        ((100.0, 100.0), 1.5e5, False),
    ],
)
def test_the_probes_tell_slow_rounds_alone_from_windows_that_lack_passes(
    probe_ns: tuple[float, float],
    memory_alone_ns: float,
    passes: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A round alone that takes twice as long is the machine's fault if a probe's does, too."""
    rounds = ((2e6,), (2e6,), (2e6,))

    def take(place: int, with_windows: bool) -> Audit:
        probes = *((each,) for each in probe_ns), (memory_alone_ns,), (1e5,)
        windows = ((1e6,), *probes) if with_windows else ()
        return Audit(*rounds, *windows)

    audit = scripted(monkeypatch, take)
    assert audit.report(np.full(8, 5e5), 8).passed is passes


def test_an_audit_with_windows_times_both_probes() -> None:
    audit = audited(HONEST["computes"])
    audit.run(window=4)
    (taken,) = audit.audits
    (_, rounds), (_, memory_rounds) = audit._probes
    assert rounds == 4
    assert 2 <= memory_rounds <= 4
    controls = taken.window_ns, taken.probe_alone_ns, taken.memory_alone_ns, taken.memory_window_ns
    assert {len(each) for each in controls} == {len(taken.plain_ns)}
    assert min(map(min, controls)) > 0


def test_spinning_threads_are_waited_for() -> None:
    end = perf_counter() + 0.1

    def spin() -> None:
        while perf_counter() < end:
            pass

    thread = Thread(target=spin)
    thread.start()
    reuse_audit._await_idle_threads()
    assert perf_counter() >= end
    thread.join()


def test_rounds_are_judged_after_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # A judge's numerical library may keep threads spinning, which take a core from later rounds.
    audit = audited(HONEST["computes"])
    timed, judge, seen = ReuseAudit._time_round, ReuseAudit._judge_round, []
    monkeypatch.setattr(
        ReuseAudit,
        "_time_round",
        lambda self, window=1: seen.append("timed") or timed(self, window),
    )
    monkeypatch.setattr(
        ReuseAudit, "_judge_round", lambda self, *left: seen.append("judged") or judge(self, *left)
    )
    monkeypatch.setattr(reuse_audit, "_await_idle_threads", lambda: seen.append("rested"))
    audit.run(window=4)
    audit.run()
    assert seen.count("judged") == 2
    for place, each in enumerate(seen):
        if each == "judged":
            assert seen[place + 1] == "rested"
