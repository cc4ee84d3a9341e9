"""Handle Ctrl-C before a command has begun, and SIGTERM of commands that can be resumed."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def terminate_as_interrupted() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt inside this context, as Ctrl-C does.

    A handler that the caller of this process has set stays, and so does the one of a thread that
    cannot set handlers.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, f"{MESSAGE}\n".encode())
    os._exit(INTERRUPTED)
