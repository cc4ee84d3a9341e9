"""Who can be asked for the next version of a kernel, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from metalbench.errors import DeclarationError, suggestion

if TYPE_CHECKING:
    from agent_steel.proposal import Proposer

TUNER = "tuner"


def _tuner(**_: Any) -> Proposer:
    from agent_steel.tuner import Tuner

    return Tuner()


# Those that need no model; the others are known to agent_steel.providers.
OWN: dict[str, Callable[..., Proposer]] = {TUNER: _tuner}


def names() -> tuple[str, ...]:
    """Every name that `create` knows."""
    providers = _providers()
    return (*OWN, *(providers.NAMES if providers is not None else ()))


def create(name: str, **options: Any) -> Proposer:
    """Return a new proposer; `options` (model, base_url, max_cost) are for those with a model.

    Raises DeclarationError for a name that nobody has, ProposerError if a key or a package lacks.
    """
    if name in OWN:
        return OWN[name](**options)
    providers = _providers()
    if providers is None or name not in providers.NAMES:
        raise DeclarationError(f"unknown provider {name!r}; {suggestion(name, names())}")
    proposer: Proposer = providers.create(name, **options)
    return proposer


def candidates_of(proposer: Proposer) -> int:
    """How many versions of a lineage a round asks a proposer for, unless somebody says."""
    return int(getattr(proposer, "candidates", 1))


def _providers() -> Any:
    """The package of language models' proposers, with which help must not wait."""
    import importlib.util

    if importlib.util.find_spec("agent_steel.providers") is None:
        return None
    return importlib.import_module("agent_steel.providers")
