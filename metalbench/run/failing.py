"""What a failure is called, and which ones a checked build may explain."""

from __future__ import annotations

from metalbench.errors import Disturbed, ForgedTimes, KernelDied, MetalBenchError
from metalbench.result import Failure
from metalbench.run.observed import raised_where
from metalbench.verify import Kind, faults

# Findings behind which there may be a race, or an access out of bounds.
EXPLICABLE = {
    *map(str, (Kind.WRONG_RESULT, Kind.NOT_WRITTEN, Kind.NONDETERMINISTIC)),
    *map(str, (Kind.GUARD_ZONE, Kind.FAULT)),
}


def failure_of(error: Exception, stage: str) -> Failure:
    """The failure that an error is, in a stage; of what is none of ours with where it came from."""
    said = str(error) if isinstance(error, MetalBenchError) else raised_where(error)
    return Failure(stage, _kind_of(error), said)


def _kind_of(error: Exception) -> str:
    if isinstance(error, (Disturbed, ForgedTimes, KernelDied)):
        return faults.finding(error).kind.value
    return type(error).__name__
