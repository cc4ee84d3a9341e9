"""Start a new interpreter. It is not forked: neither Metal nor MLX survives a fork."""

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
# The folder that holds this package.
_ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir))
# Names of environment variables that hold secrets.
_SECRET = re.compile(
    r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE|CREDENTIALS?)(_|$)", re.IGNORECASE
)


class Closable(Protocol):
    """One end of a channel to a process."""

    def close(self) -> None:
        """Close this end."""


End = TypeVar("End", bound=Closable)


class Process(Generic[End]):
    """A child process with a channel to it. It ends with this process.

    `worker` is the module whose `work` function it runs. `channel` builds this end of the channel.
    With `leads_session` it has a separate session, which ends with it; else it joins ours.
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
                # Unbuffered: its output must be complete when it is killed after its reply.
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
        """The process ID."""
        return self._child.pid

    def end(self) -> None:
        """End the process and all its descendants. They have ended when this returns."""
        self._kill()
        self.channel.close()
        self._words.close()
        self._scratch.remove()
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def pause(self) -> None:
        """Stop the process, which leads a session, and all processes of the session."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue the processes after `pause`."""
        self._signal(signal.SIGCONT)

    def wait_for_exit(self) -> int:
        """Wait until the process ends, and return its exit status; negative for a signal."""
        try:
            return self._child.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._kill()
            return 0

    def _kill(self) -> None:
        # First the descendants outside the group: without a parent they cannot be found.
        if self._child.poll() is None:
            kill_descendants(self._child.pid)
        self._child.kill()
        # The group may outlive its leader, for example a compiler that still runs.
        if self._leads_session:
            self._signal(signal.SIGKILL)
        self._child.wait()
        if self._leads_session:
            REAPER.remove(self._child.pid)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, number)

    def _make_folder_variables(self) -> dict[str, str]:
        """Return the environment variables that name the only writable folders."""
        return {
            "METALBENCH_CACHE": str(cache.find_cache_folder()),
            "TMPDIR": str(self._scratch.path),
        }

    def read_output_tail(self) -> str:
        """Return the last LAST_WORDS_BYTES of its output, as text."""
        size = self._words.seek(0, os.SEEK_END)
        self._words.seek(max(0, size - LAST_WORDS_BYTES))
        return self._words.read().decode(errors="replace").strip()


def list_import_folders() -> list[str]:
    """Return the folders that a worker imports from: `sys.path` without the working directory.

    `python -m` and `python -c` put the working directory first. A file there must not replace a
    module. A folder that PYTHONPATH names remains. If this package is in the working directory, as
    in a checkout, that comes last.
    """
    here = os.getcwd()
    named = {os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(":") if each}
    found = [each for each in sys.path if each and (os.path.abspath(each) != here or here in named)]
    lacks_package = here == _ROOT and _ROOT not in map(os.path.abspath, found)
    return [*found, _ROOT] if lacks_package else found


def remove_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` without keys, tokens and passwords.

    MTL_CAPTURE_ENABLED is removed too: it slows Metal down, and workers make no GPU traces.
    """
    return {
        name: value
        for name, value in environment.items()
        if not _SECRET.search(name) and name != "MTL_CAPTURE_ENABLED"
    }
