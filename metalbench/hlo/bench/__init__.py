"""Programs of StableHLO, timed against XLA and MLX, and what their kernels make of a device."""

from metalbench.hlo.bench.catalogue import FAMILIES, Program, programs, selected
from metalbench.hlo.bench.timing import KernelTime, Rival, Subject, Timed, timed
from metalbench.hlo.bench.utilisation import Utilisation, utilisation

__all__ = [
    "FAMILIES",
    "KernelTime",
    "Program",
    "Rival",
    "Subject",
    "Timed",
    "Utilisation",
    "programs",
    "selected",
    "timed",
    "utilisation",
]
