"""A device that only tells times, all of them known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np


@dataclass
class ScriptedSamples:
    candidate_ns: np.ndarray
    reference_ns: np.ndarray
    candidate_first: np.ndarray
    floor_ns: np.ndarray
    candidate_window: int = 10
    reference_window: int = 20
    tick_ns: float = 1.0
    clock: str = "device"
    device_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    counter_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    wall_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    encode_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    reference_device_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    reference_wall_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    floor_device_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    long_device_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    reference_long_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    reference_long_device_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    long_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    probe_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    probe_after_candidate_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    probe_after_reference_ns: np.ndarray = field(default_factory=lambda: np.array([]))
    passes_per_command_buffer: int = 0
    reference_passes_per_command_buffer: float = 0.0
    best_probe_ns: float = 0.0
    discarded: int = 0
    retries: int = 0
    throttled: bool = False
    warmup_ns: float = 0.0


@dataclass
class ScriptedSampler:
    """Draws times from `candidate` and `reference`, and moves its own clock by what they cost.

    Who is second in a pair takes `second` longer, as a fraction.
    """

    candidate: Callable[[np.random.Generator, int], np.ndarray]
    reference: Callable[[np.random.Generator, int], np.ndarray] | None
    seconds_per_pair: float = 0.001
    floor_ns: float = 500.0
    second: float = 0.0
    now: float = 0.0
    calls: list[dict[str, Any]] = field(default_factory=list)
    own_clock: bool = False

    def clock(self) -> float:
        return self.now

    def sample(self, candidate: Sequence[Any], reference: object, **plan: Any) -> ScriptedSamples:
        self.calls.append(plan)
        affordable = int(plan["time_limit_ns"] / 1e9 / self.seconds_per_pair)
        pairs = min(plan["max_pairs"], max(plan["min_pairs"], affordable))
        self.now += plan["warmup_ns"] / 1e9
        random = np.random.default_rng(plan["seed"])
        for done in range(pairs):
            plan["progress"](done, pairs)
            self.now += self.seconds_per_pair
        first = random.random(pairs) < 0.5
        reference_ns = self.reference(random, pairs) if self.reference else None
        return ScriptedSamples(
            candidate_ns=self.candidate(random, pairs) * (1 + self.second * ~first),
            reference_ns=np.array([])
            if reference_ns is None
            else reference_ns * (1 + self.second * first),
            candidate_first=first,
            floor_ns=np.full(4, self.floor_ns),
            warmup_ns=plan["warmup_ns"],
        )


@dataclass
class ScriptedGpu(ScriptedSampler):
    """The same with its own clock: its times are wall times, of which `busy` is the GPU's.

    Counters show `counted` of what the command buffers say; NaN where they failed. Of the reference
    the GPU tells `reference_busy` in every window but the first `untold` of each look.
    """

    busy: float = 0.5
    reference_busy: float = 0.5
    untold: int = 1
    gpu_floor_ns: float = 100.0
    counted: float = 1.0
    own_clock: bool = True

    def sample(self, candidate: Sequence[Any], reference: object, **plan: Any) -> ScriptedSamples:
        found = super().sample(candidate, reference, **plan)
        if reference is None:
            found = replace(found, reference_ns=np.array([]))
        gpu_ns = self.busy * found.candidate_ns
        return replace(
            found,
            clock="device" if reference is None else "wall",
            candidate_ns=gpu_ns if reference is None else found.candidate_ns,
            device_ns=gpu_ns,
            counter_ns=self.counted * gpu_ns,
            wall_ns=found.candidate_ns,
            encode_ns=np.full(gpu_ns.size, 15e3),
            reference_device_ns=self._told(found.reference_ns),
            reference_wall_ns=found.reference_ns,
            floor_device_ns=np.full(4, self.gpu_floor_ns),
        )

    def _told(self, wall_ns: np.ndarray) -> np.ndarray:
        told = self.reference_busy * wall_ns
        told[: self.untold] = np.nan
        return told


def steady(mean_ns: float, spread: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Times around `mean_ns` with relative standard deviation `spread`."""
    return lambda random, pairs: mean_ns * np.exp(random.normal(0, spread, pairs))
