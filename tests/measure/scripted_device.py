"""A device whose times functions tell; the core's own sampling loop decides what it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from metalbench import _core
from metalbench.measure.sampling import Sides


@dataclass
class ScriptedDevice:
    """Times on a clock that moves by what they cost; `slowdown` is of the clock, by its time."""

    candidate_ns: float = 1e5
    reference_ns: float = 2e5
    probe_ns: float = 1e5
    window_cost_ns: float = 0.0
    slowdown: Callable[[float], float] = lambda now: 1.0
    own_clock: bool = True
    now: float = 0.0
    probed: int = 0
    plans: list[dict[str, Any]] = field(default_factory=list)
    rested: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now / 1e9

    def sides(self, **options: Any) -> Sides:
        return Sides(self._told("candidate_ns"), self._told("reference_ns"), **options)

    def sample(
        self, candidate: Any, reference: Any = None, *, probe: Any = (), **plan: Any
    ) -> _core.Samples:
        self.plans.append(plan)
        told = _core.sample_script(
            candidate,
            reference,
            probe=self._told("probe_ns"),
            now_ns=lambda: self.now,
            rest=self._rest,
            **plan,
        )
        return Told(told) if self.own_clock else told

    def _told(self, name: str) -> Callable[[int], float]:
        def run(passes: int) -> float:
            self.probed += name == "probe_ns"
            per_pass = getattr(self, name) * self.slowdown(self.now)
            taken = per_pass * passes + (self.window_cost_ns if name == "candidate_ns" else 0.0)
            self.now += taken
            return taken

        return run

    def _rest(self, ns: float) -> None:
        self.rested.append(ns)
        self.now += ns


class Told:
    """Samples of a device with its own clock: the same times by all clocks."""

    def __init__(self, samples: _core.Samples) -> None:
        self._samples = samples

    def __getattr__(self, name: str) -> Any:
        return getattr(self._samples, name)
