"""The command ``metalbench``.

Everything but click is imported within the commands: help, completion and lists must be quick.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metalbench.cli.group import main

__all__ = ["main"]


def __getattr__(name: str) -> Any:
    # Not before it is asked for: `interruption` comes first.
    if name == "main":
        from metalbench.cli.group import main

        return main
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
