"""Who can be asked for the next version of a kernel, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from metalbench.errors import DeclarationError, suggestion

if TYPE_CHECKING:
    from agent_steel.proposal import Proposer

TUNER = "tuner"


def _tuner(**_: Any) -> Proposer:
    from agent_steel.tuning.tuner import Tuner

    return Tuner()


# Those that need no model; the others are known to agent_steel.models.providers.
OWN: dict[str, Callable[..., Proposer]] = {TUNER: _tuner}


def create(name: str, **options: Any) -> Proposer:
    """Return a new proposer; `options` (model, base_url, max_cost) are for those with a model.

    Raise DeclarationError for an unknown name, ProposerError for a missing key or package.
    """
    from agent_steel.models import providers

    if name in OWN:
        return OWN[name](**options)
    if name not in providers.NAMES:
        known = (*OWN, *providers.NAMES)
        raise DeclarationError(f"unknown provider {name!r}; {suggestion(name, known)}")
    return providers.create(name, **options)


def candidates_of(proposer: Proposer) -> int:
    """Return how many versions of a lineage a round asks a proposer for, unless somebody says."""
    return int(getattr(proposer, "candidates", 1))
