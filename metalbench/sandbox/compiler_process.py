"""Start programs that are confined before their first instruction."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from metalbench.errors import Unsupported
from metalbench.process import gc_paused
from metalbench.sandbox import landlock, seccomp
from metalbench.sandbox.landlock import Files


def start_compiler(
    command: Sequence[str], files: Files | None, **options: Any
) -> subprocess.Popen[bytes]:
    """Start a compiler or its linker like `subprocess.Popen`; it can open only `files`.

    It has no network, cannot leave this process group, and cannot signal this process. Its children
    are confined too. With `files` None it can open all files of its user. On macOS it inherits this
    process's sandbox, because sandboxes do not nest. Raises OSError if it cannot be started.
    """
    if sys.platform != "linux":
        return subprocess.Popen(command, **options)
    with ExitStack() as held:
        rules = None
        if files is not None:
            with suppress(Unsupported):
                rules = held.enter_context(landlock.open_ruleset(files))
        starter = _Starter(lambda: subprocess.Popen(command, **options), rules)
        # Whose garbage is collected in that thread may have processes to end, which it may not
        # signal: it is confined as what it starts.
        with gc_paused():
            starter.start()
            starter.join()
    return starter.wait_for_start()


class _Starter(threading.Thread):
    """A thread that confines itself, starts a program, and ends: rules and filters are per thread.

    So no code has to run between fork and exec, where a process with threads may deadlock.
    """

    def __init__(self, start: Callable[[], subprocess.Popen[bytes]], rules: int | None) -> None:
        super().__init__(name="start a compiler")
        self._start, self._rules = start, rules
        self._process: subprocess.Popen[bytes] | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Confine this thread and start the program; `wait_for_start` raises what failed."""
        try:
            self._confine()
            self._process = self._start()
        except BaseException as error:
            self._error = error

    def _confine(self) -> None:
        if self._rules is not None:
            with suppress(Unsupported):
                landlock.restrict_thread(self._rules)
        with suppress(Unsupported):
            seccomp.install_filter(*seccomp.make_compiler_policy(os.getpid()), every_thread=False)

    def wait_for_start(self) -> subprocess.Popen[bytes]:
        """Return the program after this thread has ended. Raises the error of the start."""
        if self._error is not None:
            raise self._error
        assert self._process is not None
        return self._process
