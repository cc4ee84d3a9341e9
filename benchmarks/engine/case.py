"""What is measured: arrays, launches for both kernel languages, loops for C, the right result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

KERNELS = Path(__file__).parent / "kernels"
Array = NDArray[Any]
Arrays = Mapping[str, Array]
# Parameters in order: an array or the value of a constant.
Parameters = Mapping[str, "str | int"]


@dataclass(frozen=True)
class Step:
    """One launch. Parameter names are those of the MSL kernel, their order that of the OpenCL's."""

    kernel: str
    grid: tuple[int, ...]
    threads: tuple[int, ...]
    parameters: Parameters


@dataclass(frozen=True)
class Loop:
    """One call of a C function, its items shared among all cores."""

    function: str
    items: int
    parameters: tuple[str | int, ...]


@dataclass(frozen=True)
class Case:
    """A benchmark in three languages.

    Parameters
    ----------
    arrays
        Makes inputs and outputs by name; anew for every contestant but equal.
    expected
        The right outputs, from the arrays.
    tolerance
        Largest error allowed, relative to the largest magnitude of the expected array.
    """

    name: str
    metal: str
    opencl: str
    c: str
    arrays: Callable[[], dict[str, Array]]
    expected: Callable[[Arrays], dict[str, Array]]
    steps: tuple[Step, ...]
    loops: tuple[Loop, ...]
    tolerance: float = 0.0
    macros: Mapping[str, str] = field(default_factory=dict)
    opencl_steps: tuple[Step, ...] = ()  # where they are not `steps`

    def source(self, file: str) -> str:
        """Return text of one of the three sources."""
        return (KERNELS / file).read_text(encoding="utf-8")

    def check(self, who: str, arrays: Arrays, expected: Arrays) -> None:
        """Raise SystemExit if an output is wrong."""
        for name, right in expected.items():
            error = np.abs(arrays[name].astype(np.float64) - right).max()
            limit = self.tolerance * np.abs(right).max()
            if not error <= limit:
                raise SystemExit(
                    f"{self.name}: {who}: {name} is off by {error:g} (limit {limit:g})"
                )
