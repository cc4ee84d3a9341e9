"""What the Welder is to make, and how it ends when it cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent_steel.proposal import Usage
from agent_steel.welding.destination import Destination
from agent_steel.welding.draft import Draft, valid_name
from metalbench.errors import DeclarationError, MetalBenchError
from metalbench.kernel.library import Library

# Says whether the Python of a draft may be run; it gets the file's name and text.
Agree = Callable[[str, str], bool]


class WelderError(MetalBenchError):
    """No task came of it. `usage` is what that has cost, and `draft` the last one, if any."""

    usage: Usage = Usage()
    draft: Draft | None = None


@dataclass(frozen=True)
class Order:
    """The request of the user. `name` is the task's; with '' the model selects it.

    `reference` is a Python file of the user's that says what is right, by `function` ('' if it has
    but one). Up to `rounds` drafts are checked, and with `polish` one more.
    """

    description: str
    destination: Destination
    name: str = ""
    reference: Path | None = None
    function: str = ""
    rounds: int = 4
    polish: bool = True
    seed: int = 0

    def check(self) -> None:
        """Raise DeclarationError for what cannot be made, before anything is asked."""
        if not self.description.strip():
            raise DeclarationError("--description: expected what is to be computed, got nothing")
        if self.rounds < 1:
            raise DeclarationError(f"--rounds: expected 1 or more, got {self.rounds}")
        if not valid_name(self.destination.set_name):
            raise DeclarationError(
                "--set: expected lower-case letters, digits and underscores, got "
                f"{self.destination.set_name!r}"
            )
        if self.reference is not None and not self.reference.is_file():
            raise DeclarationError(f"--reference {self.reference}: expected a file, found none")
        if not self.name:
            return
        if not valid_name(self.name):
            raise DeclarationError(
                f"--name: expected lower-case letters, digits and underscores, got {self.name!r}"
            )
        if self.name in Library().names():
            raise DeclarationError(f"--name: the library has a task called {self.name!r}")
        self.destination.check(self.name)
