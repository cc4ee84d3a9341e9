"""A Metal device off a Mac: results are the cpu device's; clocks, state and traces are told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metalbench import _core

SHARE = 0.8  # of the wall time, on the GPU's clock


class ScriptedGpu:
    """Everything that is not told here is the cpu device's."""

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

    def sample(self, *arguments: Any, **plan: Any) -> TwoClocks:
        return TwoClocks(self._cpu.sample(*arguments, **plan), self.counted)

    def capture(self, dispatches: Sequence[_core.Dispatch], path: str) -> None:
        self._cpu.run(dispatches)
        Path(path).write_text("trace")


class TwoClocks:
    """Samples whose times are wall times, with the GPU's own beside them."""

    clock = "wall"

    def __init__(self, samples: _core.Samples, counted: float) -> None:
        self._samples = samples
        self.wall_ns = samples.candidate_ns
        self.device_ns = SHARE * samples.candidate_ns
        self.counter_ns = counted * self.device_ns
        self.encode_ns = np.full(self.wall_ns.size, 15e3)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._samples, name)
