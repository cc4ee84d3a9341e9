"""Draw seeds that cannot be known before a run, so that no kernel is written for them."""

from __future__ import annotations

import secrets

# A multiple of every number of variations up to ten, so that inputs begin with the first one.
TURN = 2520
SEEDS = 1 << 32


def draw_secret_seed() -> int:
    """Draw a seed from the system's source of randomness."""
    return TURN * secrets.randbelow(SEEDS)
