"""Run compilers on several threads, and end them all if the caller is interrupted."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from metalbench._core import Error


class CompilationCancelledError(Error):
    """A compilation ended because its caller does not need it any longer.

    It is not a CompileError: the source may be right. Nothing may be stored for it.
    """


class ToolGroup:
    """The programs that the threads of one compilation run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_cancelled = False

    def bind_thread(self) -> None:
        """Let `cancel` end the programs of the calling thread from now on."""
        _THREAD.group = self

    def check(self) -> None:
        """Raise CompilationCancelledError after `cancel`."""
        if self._is_cancelled:
            raise CompilationCancelledError("the compilation was cancelled")

    def cancel(self) -> None:
        """End all programs, and refuse further ones."""
        with self._lock:
            self._is_cancelled = True
            for each in self._running:
                with suppress(OSError):
                    each.kill()

    @contextmanager
    def track(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Let `cancel` end a program inside this context."""
        with self._lock:
            if self._is_cancelled:
                process.kill()
            self._running.add(process)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(process)


class _Thread(threading.local):
    """The group of a thread."""

    def __init__(self) -> None:
        self.group = ToolGroup()


_THREAD = _Thread()


def find_group() -> ToolGroup:
    """Return the group of the calling thread."""
    return _THREAD.group


@contextmanager
def open_compiler_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of threads that compile.

    If an exception such as KeyboardInterrupt ends the context, their programs are ended, so that
    the context does not wait for results that no one needs.
    """
    group = ToolGroup()
    with ThreadPoolExecutor(threads, initializer=group.bind_thread) as pool:
        try:
            yield pool
        except BaseException:
            group.cancel()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
