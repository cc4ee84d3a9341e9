"""Kernels that could not be tried for no fault of their own, as of a task file that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def tell_untried(out: Console, reasons: Sequence[str]) -> None:
    """Say why, one line or more each; nothing if there are none."""
    from rich.text import Text

    for reason in reasons:
        out.print(Text("Not tried: ", style="red").append(reason, style=""), soft_wrap=True)
