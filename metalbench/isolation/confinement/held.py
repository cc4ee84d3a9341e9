"""What came of confining a process: nothing of it is required, all of it can be told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from metalbench.errors import Unsupported


@dataclass
class Held:
    """Mechanisms that hold by their names, and of the others why they do not."""

    means: list[str] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)

    def attempt(self, name: str, mechanism: Callable[[], object]) -> bool:
        """Use a mechanism, and note whether it holds."""
        try:
            mechanism()
        except Unsupported as error:
            self.lacking.append(str(error))
            return False
        self.means.append(name)
        return True
