"""A fresh interpreter, started and not forked: neither Metal nor MLX survives a fork."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Generic, Protocol, TypeVar

from metalbench.isolation.descendants import kill_descendants
from metalbench.isolation.group_reaper import REAPER
from metalbench.isolation.scratch import Scratch
from metalbench.msl.building import cache

PREFIX = "metalbench-of-"
LAST_WORDS_BYTES = 4000
SECONDS_TO_END = 10.0
# The folder of this package.
_ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir))
# What variables are called that hold what nobody but their owner should know.
_SECRET = re.compile(
    r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE|CREDENTIALS?)(_|$)", re.IGNORECASE
)


class Closable(Protocol):
    """One end of what a process is told by."""

    def close(self) -> None:
        """Close this end."""


End = TypeVar("End", bound=Closable)


class Process(Generic[End]):
    """A worker's process, with a channel to it. It ends with us.

    `worker` is the module whose `work` it runs, and `channel` makes our end of what it is told by.
    It `leads_session` a session of its own, which ends with it; else it is of ours.
    """

    def __init__(
        self,
        device: str,
        *,
        worker: str,
        channel: Callable[[Connection], End],
        leads_session: bool = True,
    ) -> None:
        self._leads_session = leads_session
        ours, theirs = Pipe()
        end, lifeline = os.pipe()
        self._lifeline: int | None = lifeline
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._scratch = Scratch(PREFIX)
        program = (
            f"import sys; sys.path[:] = {list_import_folders()!r}; from {worker} import work"
            f"; work({theirs.fileno()}, {end}, {os.getpid()}, {device!r})"
        )
        try:
            self._child = subprocess.Popen(
                # Unbuffered: it is killed when it has answered, and what it printed is to be seen.
                [sys.executable, "-u", "-c", program],
                env={**remove_secrets(os.environ), **self._make_folder_variables()},
                stdin=subprocess.DEVNULL,
                stdout=self._words,
                stderr=self._words,
                pass_fds=(theirs.fileno(), end),
                start_new_session=leads_session,
            )
            if leads_session:
                REAPER.add(self._child.pid)
        finally:
            theirs.close()
            os.close(end)
        self.channel = channel(ours)

    @property
    def number(self) -> int:
        """The system's number of the process."""
        return self._child.pid

    def end(self) -> None:
        """End the process and all that it started; it is gone when this returns."""
        self._kill()
        self.channel.close()
        self._words.close()
        self._scratch.remove()
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def pause(self) -> None:
        """Let the process, which leads a session, and all that it started stand still."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let them go on, if they stand still."""
        self._signal(signal.SIGCONT)

    def wait_for_exit(self) -> int:
        """Wait until it has ended by itself; a negative code is a signal's number."""
        try:
            return self._child.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._kill()
            return 0

    def _kill(self) -> None:
        # First those that have left the group: without a parent they are found no more.
        if self._child.poll() is None:
            kill_descendants(self._child.pid)
        self._child.kill()
        # The group may outlive its leader, as a compiler does that was still at work.
        if self._leads_session:
            self._signal(signal.SIGKILL)
        self._child.wait()
        if self._leads_session:
            REAPER.remove(self._child.pid)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, number)

    def _make_folder_variables(self) -> dict[str, str]:
        """The only ones that it writes to, by the variables that name them."""
        return {
            "METALBENCH_CACHE": str(cache.find_cache_folder()),
            "TMPDIR": str(self._scratch.path),
        }

    def read_output_tail(self) -> str:
        """What it printed at last, as text."""
        size = self._words.seek(0, os.SEEK_END)
        self._words.seek(max(0, size - LAST_WORDS_BYTES))
        return self._words.read().decode(errors="replace").strip()


def list_import_folders() -> list[str]:
    """Return the folders that a worker imports from: those of this process without its own folder.

    `python -m` and `python -c` put the working directory first. What lies there is not ours, and
    must not take the place of a module. A folder that PYTHONPATH names stays. Where this package
    itself is in the working directory, as in a checkout, that comes last.
    """
    here = os.getcwd()
    named = {os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(":") if each}
    found = [each for each in sys.path if each and (os.path.abspath(each) != here or here in named)]
    lacks_package = here == _ROOT and _ROOT not in map(os.path.abspath, found)
    return [*found, _ROOT] if lacks_package else found


def remove_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """What a worker may know of `environment`: keys, tokens and passwords are left out.

    So is what allows GPU traces, which makes Metal slower: none are made in workers.
    """
    return {
        name: value
        for name, value in environment.items()
        if not _SECRET.search(name) and name != "MTL_CAPTURE_ENABLED"
    }
