"""The command ``metalbench``.

Everything but click is imported within the commands: help, completion and lists must be quick.
"""

from metalbench.cli.group import main

__all__ = ["main"]
