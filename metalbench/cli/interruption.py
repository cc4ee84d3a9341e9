"""Ctrl-C before a command has begun, when there is nothing yet to put away."""

import os
import signal
from types import FrameType

INTERRUPTED = 130
MESSAGE = "\nInterrupted."


def leave_at_once() -> None:
    """Let Ctrl-C end this process with its message, until `raise_from_now_on` is called.

    An exception would not do: it could be caught, or lost, by the import that it came into. Where
    Ctrl-C is ignored, as by a script's command in the background, it stays so.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_from_now_on() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, f"{MESSAGE}\n".encode())
    os._exit(INTERRUPTED)
