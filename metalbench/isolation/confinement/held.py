"""What came of confining a process: nothing of it is required, all of it can be told."""

from __future__ import annotations

from collections.abc import Callable

from metalbench.errors import Unsupported


class ConfinementReport:
    """Mechanisms that hold by their names, and of the others why they do not."""

    def __init__(self) -> None:
        self.mechanisms: list[str] = []
        self.missing: list[str] = []

    def attempt(self, name: str, mechanism: Callable[[], object]) -> bool:
        """Use a mechanism, and note whether it holds."""
        try:
            mechanism()
        except Unsupported as error:
            self.missing.append(str(error))
            return False
        self.mechanisms.append(name)
        return True
