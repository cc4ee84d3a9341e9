"""Checks the three contestants of a case, then times them in pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.engine.c_loops import CLoops
from benchmarks.engine.case import Array, Arrays, Case
from benchmarks.engine.engine import dispatches
from benchmarks.engine.pocl import Pocl
from metalbench import _core

# Far beyond what any case takes, on a busy machine too.
KERNEL_TIME_LIMIT_S = 120.0


@dataclass(frozen=True)
class Result:
    """Samples of the engine against C, and against PoCL where there is one."""

    name: str
    c: _core.Samples
    pocl: _core.Samples | None

    @property
    def engine_ns(self) -> float:
        """Median of the engine's times in all pairs."""
        both = (self.c, self.pocl) if self.pocl else (self.c,)
        return float(np.median(np.concatenate([samples.candidate_ns for samples in both])))


class Runner:
    """One device, one PoCL (or none) and one pool of C threads for all cases."""

    def __init__(self, device: _core.Device, pocl: Pocl | None, c: CLoops, seconds: float) -> None:
        self.device = device
        self.pocl = pocl
        self.c = c
        self.seconds = seconds

    def run(self, case: Case) -> Result:
        """Raise SystemExit when one of the contestants is wrong."""
        arrays = {name: align_to_page(array) for name, array in case.arrays().items()}
        expected = case.expected(arrays)
        ours = poison_outputs(arrays, expected)
        launches = dispatches(self.device, case, ours)
        self.device.run(launches, time_limit=KERNEL_TIME_LIMIT_S)
        case.check("the engine", ours, expected)

        def against(contestant: Pocl | CLoops, who: str) -> _core.Samples:
            theirs = poison_outputs(arrays, expected)
            reference = contestant.reference(case, theirs)
            reference(1)
            case.check(who, theirs, expected)
            limit_ns = self.seconds * 1e9
            return self.device.sample(
                launches,
                reference,
                max_pairs=64,
                time_limit_ns=limit_ns,
                kernel_time_limit=KERNEL_TIME_LIMIT_S,
            )

        c = against(self.c, "C")
        pocl = against(self.pocl, "PoCL") if self.pocl else None
        return Result(case.name, c, pocl)


def poison_outputs(arrays: Arrays, expected: Arrays) -> dict[str, Array]:
    """Return shared inputs and separate outputs, which are filled with 77."""
    return {
        name: array if name not in expected else align_to_page(np.full_like(array, 77))
        for name, array in arrays.items()
    }


def align_to_page(array: Array) -> Array:
    """Copy an array to the start of a page: PoCL needs 128 bytes, and all sides get the same."""
    page = 4096
    memory = np.empty(array.nbytes + page, np.uint8)
    start = -memory.ctypes.data % page
    same = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    same[...] = array
    return same
