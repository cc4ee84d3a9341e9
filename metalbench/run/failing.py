"""Name the kind of a failure; list the kinds that a checked build may explain."""

from __future__ import annotations

from metalbench.errors import Disturbed, ForgedTimes, KernelDied, MetalBenchError
from metalbench.result import Failure
from metalbench.run.observed import locate_error
from metalbench.verify import Kind, faults

# Kinds of findings that a race or an access out of bounds can cause.
EXPLICABLE = {
    *map(str, (Kind.WRONG_RESULT, Kind.NOT_WRITTEN, Kind.NONDETERMINISTIC)),
    *map(str, (Kind.GUARD_ZONE, Kind.FAULT)),
}


def make_failure(error: Exception, stage: str) -> Failure:
    """Return the failure of an error in a stage; for foreign errors with file and line."""
    message = str(error) if isinstance(error, MetalBenchError) else locate_error(error)
    kind = type(error).__name__
    if isinstance(error, (Disturbed, ForgedTimes, KernelDied)):
        kind = faults.make_finding(error).kind.value
    return Failure(stage, kind, message)
