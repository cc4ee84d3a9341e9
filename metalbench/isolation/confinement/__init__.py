"""What a process may not do that has native code of a stranger's in it.

`confine` at its start, `seal` before the first instruction of a kernel; compilers are confined as
they are started. One mechanism of the system a file; each is done without where it is missing.
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
