"""Handle Ctrl-C before a command has begun, when there is nothing to clean up."""

import os
import signal
from types import FrameType

INTERRUPTED = 130
MESSAGE = "\nInterrupted."


def leave_at_once() -> None:
    """Let Ctrl-C end this process with its message, until `raise_from_now_on` is called.

    An exception could be caught, or lost, by the import that it interrupts. If Ctrl-C is ignored,
    as by background commands of a script, it stays ignored.
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
