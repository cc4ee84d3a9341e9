"""The official client libraries, which are an optional extra."""

from __future__ import annotations

import importlib
from typing import Any

from agent_steel.proposal import ProposerError


def library_of(name: str) -> Any:
    """Return the module `name`; raises ProposerError that says how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    raise ProposerError(
        f"[{name}] the client library `{name}` is not installed; "
        "`pip install 'metalbench[agent]'` brings it"
    )
