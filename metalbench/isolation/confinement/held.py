"""Report of the mechanisms that confine a process."""

from __future__ import annotations

from collections.abc import Callable

from metalbench.errors import Unsupported


class ConfinementReport:
    """Names of the active `mechanisms`, and reasons for the `missing` ones."""

    def __init__(self) -> None:
        self.mechanisms: list[str] = []
        self.missing: list[str] = []

    def attempt(self, name: str, mechanism: Callable[[], object]) -> bool:
        """Apply a mechanism, record the outcome, and return whether it is active."""
        try:
            mechanism()
        except Unsupported as error:
            self.missing.append(str(error))
            return False
        self.mechanisms.append(name)
        return True
