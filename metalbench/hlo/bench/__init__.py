"""Time StableHLO programs against XLA and MLX, and count what their kernels move and compute."""

from metalbench.hlo.bench.catalogue import (
    FAMILIES,
    BenchmarkProgram,
    list_programs,
    select_programs,
)
from metalbench.hlo.bench.timing import (
    KernelTime,
    ProgramResult,
    Rival,
    Subject,
    Utilisation,
    count_plan,
    time_program,
)

__all__ = [
    "FAMILIES",
    "BenchmarkProgram",
    "KernelTime",
    "ProgramResult",
    "Rival",
    "Subject",
    "Utilisation",
    "count_plan",
    "list_programs",
    "select_programs",
    "time_program",
]
