"""Whole calls, timed: from arrays of the host to results of the host, on both sides.

What a candidate's process says of times counts for nothing. Every call has inputs that its process
has never seen, so that nothing kept from another call is of use, and of all calls a few, which
nobody knows before they are over, are judged by the oracle afterwards.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench import _core
from metalbench.errors import MetalBenchError
from metalbench.isolation.thread_times import ProcessTimes
from metalbench.kernel import Kernel
from metalbench.kernel.library import Entry
from metalbench.python_candidate.account import LEAST_FLOW, Account, Overhead, find_missing_work
from metalbench.python_candidate.candidate import (
    TIME_LIMIT,
    Candidate,
    CandidateSlot,
    OutputArray,
    copy_inputs,
    layout,
)
from metalbench.python_candidate.messages import CandidateStart, ReferenceForm
from metalbench.python_candidate.player import CallResult, KernelsNeeded
from metalbench.python_candidate.probing import ProbeKind, is_affine_match
from metalbench.reference.chain import Reference, plain_ends
from metalbench.reference.convert import to_mlx, to_numpy
from metalbench.run.turns import like_seeds
from metalbench.task.workload import Workload, workload

# Slots of one request: so that asking is a small part of it, and drawing does not take for ever.
MOST_SLOTS = 64
SLOTS_BYTES = 64 << 20
# Of the calls that are timed so many are judged. Who leaves out half of the work, and less would
# not move a median, gets past with a chance of 1 in 4096.
JUDGED = 12
WINDOW_NS = 10_000_000
# Calls of the reference that take longer are asked for one by one: then a candidate never has the
# inputs of two calls at once.
LONG_CALL_NS = 1_000_000


class WholeCalls(Reference):
    """The reference called as a candidate is: with arrays of the host, for arrays of the host."""

    def __call__(self, repetitions: int) -> None:
        """Make so many calls, one after the other, on the inputs that were loaded last."""
        for _ in range(repetitions):
            self.call(self.workload)

    def call(self, work: Workload) -> list[np.ndarray[Any, Any]]:
        """Make one call."""
        with mx.stream(self._stream):
            inputs = {name: to_mlx(each) for name, each in work.inputs.items()}
            return [to_numpy(each) for each in plain_ends(self.form.function(**inputs), None)]


@dataclass
class TimedCall:
    """One timed call: the inputs, and what it had left in its outputs when it said so."""

    work: Workload
    outputs: dict[str, np.ndarray[Any, Any]]

    def slot(self, candidate: Candidate) -> CandidateSlot:
        """As an Examiner sees it."""
        outputs = {name: OutputArray(each) for name, each in self.outputs.items()}
        return CandidateSlot(candidate, self.work, outputs)


class ReferenceProcess(Candidate):
    """A form of the reference in a process like the candidate's, called in the same way.

    It is not sealed: it is the task's own, and MLX may have to compile it.
    """

    def __init__(self, judge: _core.Device, entry: Entry, work: Workload, kind: str) -> None:
        nobody = Kernel(entry.name, entry.task_path, "", None, "", dispatches=())
        super().__init__(judge, nobody, work.task, work.dtype)
        self._form = ReferenceForm(kind, entry.task_path, entry.set)

    def _start(self, nbytes: int) -> CandidateStart:
        return CandidateStart(self._form.path.name, self.task.name, nbytes, form=self._form)


@dataclass
class Timing:
    """Times a candidate and its reference; a Sampler, whose decisions are the core's.

    `samples` are the calls to be judged, chosen from all alike.
    """

    candidate: Candidate
    reference: ReferenceProcess
    first: Workload
    own_clock: bool = False
    samples: list[TimedCall] = field(default_factory=list)
    calls: int = 0
    _results: list[tuple[int, CallResult]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._layout = layout(self.first)
        self._slots = 1
        if self._reference_ns() < LONG_CALL_NS:
            self._slots = max(1, min(MOST_SLOTS, SLOTS_BYTES // self._layout.nbytes))
        for each in (self.candidate, self.reference):
            each.reserve(self._slots * self._layout.nbytes)
        self._works = [self.first]
        self._seeds = like_seeds(self.first.task, self.first.seed)
        # Which calls are judged the candidate must not know, and the seed is the run's.
        self._random = random.SystemRandom()

    def sample(self, candidate: object, reference: object, **options: Any) -> _core.Samples:
        """Take a plan of samples, as a device's `sample` does."""
        options.pop("probe", None)
        return _core.sample_script(
            self.window,
            self.reference_window,
            floor=self.empty_window,
            now_ns=lambda: float(time.perf_counter_ns()),
            rest=lambda ns: time.sleep(ns / 1e9),
            **options,
        )

    def window(self, passes: int) -> float:
        """Nanoseconds of so many calls of the candidate, each on inputs of its own."""
        self._works = []
        return sum(map(self._time_batch, self._split_passes(passes)))

    def reference_window(self, passes: int) -> float:
        """Nanoseconds of so many calls of the reference, on inputs that the candidate had."""
        works = cycle(self._works)
        batches = [list(islice(works, count)) for count in self._split_passes(passes)]
        return float(sum(self._call_side(self.reference, each).ns for each in batches))

    def run_reference(self, passes: int) -> None:
        """Make so many calls of the reference; who samples asks for their time instead."""
        self.reference_window(passes)

    def empty_window(self, passes: int) -> float:
        """Nanoseconds that asking takes as often as for so many calls."""
        return float(
            sum(self.candidate.call(self._layout, 0).ns for _ in self._split_passes(passes))
        )

    def account(self) -> Account:
        """Return what all timed calls came to.

        Where the system does not tell times of every batch, it has none of any.
        """
        told = [result.times for _, result in self._results]
        known = [each for each in told if each is not None]
        whole = known and len(known) == len(told)
        return Account(
            sum(count for count, _ in self._results),
            float(sum(result.ns for _, result in self._results)),
            float(sum(result.launches for _, result in self._results)),
            float(sum(result.kernel_ns for _, result in self._results)),
            float(sum(result.reported_ns for _, result in self._results)),
            ProcessTimes(*map(sum, zip(*known, strict=True))) if whole else None,
            float(sum(result.read for _, result in self._results)),
            float(sum(result.written for _, result in self._results)),
        )

    def accounts(self) -> list[Account]:
        """Return what the calls of each request came to."""
        return [
            Account(
                count,
                float(result.ns),
                float(result.launches),
                float(result.kernel_ns),
                float(result.reported_ns),
                result.times,
                float(result.read),
                float(result.written),
            )
            for count, result in self._results
        ]

    def find_missing_work(self, overhead: Overhead) -> str:
        """Return what its kernels lack to be what does the work of the calls, or nothing."""
        inputs = sum(each.nbytes for each in self._layout.inputs)
        outputs = sum(each.nbytes for each in self._layout.outputs)
        return find_missing_work(self.accounts(), overhead, inputs, outputs)

    def probe(self) -> str:
        """Return how the result is right although its kernels go wrong, or nothing.

        Its process is ended: what a probe leaves in it is of no use.
        """
        ways = list(ProbeKind)
        self._random.shuffle(ways)
        try:
            for way in ways:
                found = self._probe_once(way)
                if found:
                    return found
        finally:
            self.candidate.end()
        return ""

    def _probe_once(self, way: ProbeKind) -> str:
        work = self._make_workload()
        slot = self.candidate.bind(work)
        slot.poison()
        try:
            _, written = self.candidate.probe(self._layout, way, self._random.getrandbits(63))
        except (MetalBenchError, KernelsNeeded):
            # It noticed: what its kernels compute is of use to it.
            self.candidate.end()
            return ""
        got = {each.name: slot.read(each.name) for each in self._layout.outputs}
        if is_affine_match(work.expected, got, work.dtype.name):
            return f"its result was the expected one, up to a scale and an offset, when {way.words}"
        whole = sum(each.nbytes for each in self._layout.outputs)
        if way is ProbeKind.OTHER_INPUTS and written < LEAST_FLOW * whole:
            return f"its kernels wrote {written} bytes, and the outputs of a call are {whole}"
        return ""

    def overhead(self) -> Overhead:
        """Return what a call's copies and a launch cost, measured in the reference's process."""
        self.reference.call(self._layout)
        return self.reference.overhead()

    def _split_passes(self, passes: int) -> list[int]:
        whole, rest = divmod(passes, self._slots)
        return [self._slots] * whole + ([rest] if rest else [])

    def _time_batch(self, count: int) -> float:
        works = [self._make_workload() for _ in range(count)]
        self._works = [*self._works, *works][-MOST_SLOTS:]
        result = self._call_side(self.candidate, works)
        self._results.append((count, result))
        for place, work in enumerate(works):
            self._keep_sample(place * self._layout.nbytes, work)
        return float(result.ns)

    def _call_side(self, side: Candidate, works: Sequence[Workload]) -> CallResult:
        """Call a side once for each workload, with nothing of another call in its outputs."""
        # It is warm when its time begins: drawing takes longer than calls do. What will be timed is
        # not in its memory yet.
        side.call(self._layout)
        memory = side.reserve(0).memory
        for place, work in enumerate(works):
            begin = place * self._layout.nbytes
            copy_inputs(memory, begin, self._layout, work)
            for each in self._layout.outputs:
                OutputArray(each.array(memory, begin)).poison()
        return side.call(self._layout, len(works), limit_s=TIME_LIMIT * len(works))

    def _reference_ns(self) -> int:
        """Return the least time of some calls of the reference."""
        arena = self.reference.reserve(self._layout.nbytes)
        copy_inputs(arena.memory, 0, self._layout, self.first)
        return min(self.reference.call(self._layout).ns for _ in range(3))

    def _make_workload(self) -> Workload:
        task, size, kind = self.first.task, self.first.size, self.first.dtype.name
        return workload(task, size, dtype_name=kind, seed=next(self._seeds))

    def _keep_sample(self, begin: int, work: Workload) -> None:
        """Every call so far is among the samples with the same chance (Vitter's algorithm R)."""
        self.calls += 1
        place = len(self.samples)
        if place == JUDGED:
            place = self._random.randrange(self.calls)
            if place >= JUDGED:
                return
            del self.samples[place]
        memory = self.candidate.reserve(0).memory
        outputs = {each.name: each.array(memory, begin).copy() for each in self._layout.outputs}
        self.samples.insert(place, TimedCall(work, outputs))
