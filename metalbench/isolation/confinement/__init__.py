"""Confinement of processes that run foreign native code.

`confine` runs at the start of a process, `seal` before the first instruction of a kernel. Compilers
are confined at their start. Each file holds one mechanism of the system. A missing mechanism is
skipped and reported.
"""

from metalbench.isolation.confinement.confine import (
    confine,
    list_executor_files,
    list_missing_mechanisms,
)
from metalbench.isolation.confinement.landlock import Files
from metalbench.isolation.confinement.refused import parse_refused_call
from metalbench.isolation.confinement.seal import seal

__all__ = [
    "Files",
    "confine",
    "list_executor_files",
    "list_missing_mechanisms",
    "parse_refused_call",
    "seal",
]
