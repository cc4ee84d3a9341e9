"""API keys: read from the environment when needed, and removed from all messages."""

from __future__ import annotations

import os

from agent_steel.models.providers.presets import Preset
from agent_steel.proposal import ProposerError

# Official clients insist on a key also where the server does not.
NO_KEY = "none"


def key_of(preset: Preset) -> str:
    """Return the key in the environment. Raise ProposerError if it is missing and needed."""
    key = os.environ.get(preset.key_variable, "").strip()
    if key:
        return key
    if preset.needs_key:
        raise ProposerError(
            f"[{preset.name}] no key: set {preset.key_variable} in the environment, or choose "
            "another --provider"
        )
    return NO_KEY


def without_key(text: str, preset: Preset) -> str:
    """`text` with the provider's key taken out, wherever it came from."""
    key = os.environ.get(preset.key_variable, "").strip()
    return text.replace(key, f"[{preset.key_variable}]") if key else text
