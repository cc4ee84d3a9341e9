"""Seeds that nobody can know before a run: what a kernel cannot have been written for."""

from __future__ import annotations

import secrets

# A multiple of every count of distributions up to ten: inputs begin with the plain one, as from 0.
TURN = 2520
SEEDS = 1 << 32


def secret_seed() -> int:
    """Draw a seed from the system's own randomness."""
    return TURN * secrets.randbelow(SEEDS)
