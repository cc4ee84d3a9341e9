"""Where reports go: a terminal gets colour and its own width, a pipe plain and unbroken lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

# Wide enough for any table; a pipe has no edge at which to break a line.
PIPE_WIDTH = 10_000


def console(*, to_stderr: bool = False) -> Console:
    """Console for reports, on standard output unless that is taken."""
    from rich.console import Console

    stream = sys.stderr if to_stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, soft_wrap=False, emoji=False)
