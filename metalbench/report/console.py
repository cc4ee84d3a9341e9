"""Where reports go: a terminal gets colour and its own width, a pipe plain and unbroken lines."""

from __future__ import annotations

import re
import sys
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rich.console import Console

# Wide enough for any table; a pipe has no edge at which to break a line.
PIPE_WIDTH = 10_000


def console(*, to_stderr: bool = False, quiet: bool = False) -> Console:
    """Console for reports, on standard output unless that is taken; none at all if `quiet`."""
    from rich.console import Console

    stream = sys.stderr if to_stderr else sys.stdout
    if stream.isatty():
        return Console(file=stream, highlight=False, emoji=False, markup=False, quiet=quiet)
    plain = cast(IO[str], _Unpadded(stream))
    return Console(
        file=plain, width=PIPE_WIDTH, highlight=False, emoji=False, markup=False, quiet=quiet
    )


class _Unpadded:
    """A text stream without the blanks with which rich fills lines to the edge."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(re.sub(r" +(?=\n)", "", text))

    def flush(self) -> None:
        self._stream.flush()
