"""A Metal device without a Mac: results are the cpu device's; clocks, state and traces are given.

No clock of this machine is asked, so that nothing depends on how busy it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metalbench import _core

SHARE = 0.8  # of the wall time, on the GPU's clock
PASS_NS = 1e5


class ScriptedGpu:
    """A device whose other properties are the cpu device's."""

    kind = "metal"
    name = "Apple M4"
    chip = "m4"
    cores = 10
    own_clock = True
    checked_builds = False

    def __init__(self, **changes: Any) -> None:
        self._cpu = _core.open("cpu")
        self.capabilities = {"family": "apple9", "memory_bytes": 2**34, "gpu_trace": True}
        self.told = {"low_power_mode": False, "thermal_state": "nominal"}
        self.counted = 1.0
        self.tells_mlx = False
        self._now_ns = 0.0
        self.compiled: list[dict[str, Any]] = []
        self.capabilities |= changes.pop("capabilities", {})
        self.__dict__ |= changes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cpu, name)

    def state(self) -> dict[str, Any]:
        return dict(self.told)

    def compile(self, source: str, **options: Any) -> _core.Library:
        self.compiled.append(options)
        return self._cpu.compile(source, **options)

    def sample(
        self,
        candidate: Sequence[_core.Dispatch],
        reference: Any = None,
        *,
        probe: Sequence[_core.Dispatch] = (),
        **plan: Any,
    ) -> TwoClocks:
        """Windows in which the candidate runs once, and takes a given time."""
        repeats, theirs = (plan.get(f"{side}_repeats", 1) for side in ("candidate", "reference"))
        told = _core.sample_script(
            lambda passes: self._take(PASS_NS * repeats * passes, candidate),
            None if reference is None else lambda passes: self._take(2 * PASS_NS * theirs * passes),
            floor=lambda passes: self._take(PASS_NS / 10 * repeats * passes),
            probe=(lambda passes: self._take(PASS_NS * passes)) if probe else None,
            now_ns=lambda: self._now_ns,
            rest=self._take,
            **plan,
        )
        return TwoClocks(told, self.counted, self.tells_mlx)

    def _take(self, ns: float, dispatches: Sequence[_core.Dispatch] = ()) -> float:
        if dispatches:
            self._cpu.run(dispatches)
        self._now_ns += ns
        return ns

    def capture(self, dispatches: Sequence[_core.Dispatch], path: str) -> None:
        self._cpu.run(dispatches)
        Path(path).write_text("trace")


class TwoClocks:
    """Samples whose times are wall times, with the GPU's own in addition."""

    clock = "wall"

    def __init__(self, samples: _core.Samples, counted: float, tells_mlx: bool) -> None:
        self._samples = samples
        self.wall_ns = samples.candidate_ns
        self.device_ns = SHARE * samples.candidate_ns
        self.long_device_ns = SHARE * samples.long_ns
        self.floor_device_ns = SHARE * samples.floor_ns
        mlx = SHARE if tells_mlx else np.nan
        self.reference_device_ns = mlx * samples.reference_ns
        self.reference_long_device_ns = mlx * samples.reference_long_ns
        self.counter_ns = counted * self.device_ns
        self.encode_ns = np.full(self.wall_ns.size, 15e3)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._samples, name)
