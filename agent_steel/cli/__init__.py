"""The command ``agent_steel``."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_steel.cli.group import main

__all__ = ["main"]


def __getattr__(name: str) -> Any:
    # Not before it is asked for: Ctrl-C is seen to first.
    if name == "main":
        from agent_steel.cli.group import main

        return main
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
