"""Start a new interpreter. It is not forked: neither Metal nor MLX survives a fork."""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from metalbench import build_cache
from metalbench.sandbox.fork_server import ForkedProcess, Preload, get_fork_server
from metalbench.sandbox.resources import list_children

# Kill the process groups of workers if this process dies without a chance to end them.
#
# A worker dies with its parent. Its compilers do not: they may be stopped (SIGSTOP) during a
# measurement, and a stopped process does not react to the end of its parent. A small shell process
# waits for the end of this process on a pipe, and kills the remaining groups.

# Each line is the list of all groups; at the end of the pipe the last one counts.
_SCRIPT = """
groups=
while read -r line; do groups=$line; done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
"""


class GroupReaper:
    """Kill the registered process groups when this process ends, by whatever cause."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._owner = 0
        self._pipe = -1
        self._shell: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        """Register `group`."""
        with self._lock:
            if self._owner != os.getpid():
                self._start()
            self._groups.add(group)
            self._send()

    def remove(self, group: int) -> None:
        """Unregister `group`, which has ended: the system may reuse its ID."""
        with self._lock:
            if group in self._groups:
                self._groups.remove(group)
                self._send()

    def _start(self) -> None:
        """Start the shell. A fork of this process starts a separate one."""
        end, self._pipe = os.pipe()
        self._owner, self._groups = os.getpid(), set()
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                # Ctrl-C at a terminal must not end it.
                start_new_session=True,
            )
        finally:
            os.close(end)
        atexit.register(self._end, self._owner)

    def _end(self, owner: int) -> None:
        """End the shell at the exit of this process."""
        if os.getpid() == owner and self._shell is not None:
            os.close(self._pipe)
            self._shell.wait()
            self._shell = None

    def _send(self) -> None:
        # If the shell was killed, workers still die with this process.
        with suppress(BrokenPipeError):
            os.write(self._pipe, f"{' '.join(map(str, sorted(self._groups)))}\n".encode())


REAPER = GroupReaper()


# Temporary folders of one process, removed by another process if the first was killed.

# Least age of an abandoned folder: a folder is not locked yet while it is being created.
SECONDS_TO_LOCK = 2.0


class ScratchFolder:
    """A new folder at `path` in the system's temporary folder; its name begins with `prefix`.

    Abandoned folders with the same prefix are removed first. A `numbered` folder has the first free
    number, so that paths, and caches keyed by paths, are the same in the next session.
    """

    def __init__(self, prefix: str, *, numbered: bool = False) -> None:
        remove_abandoned(prefix)
        made = _make_numbered_folder(prefix) if numbered else tempfile.mkdtemp(prefix=prefix)
        self.path = Path(made).resolve()
        # The system releases the lock when the process ends.
        self._lock: int | None = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the folder and its content as far as possible."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned(prefix: str) -> None:
    """Remove the folders of processes that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # another process removes it or holds it, or another user owns it
            _remove_if_abandoned(path)


def _make_numbered_folder(prefix: str) -> str:
    """Create the folder with the first free number."""
    for number in count():
        path = os.path.join(tempfile.gettempdir(), f"{prefix}{number}")
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
            return path
    raise AssertionError("unreachable")


def _remove_if_abandoned(path: Path) -> None:
    """Remove a folder that is not locked. Raises OSError if a process holds its lock."""
    lock = os.open(path, os.O_RDONLY)
    try:
        # Keep the lock until the end: a new folder with this name is another inode and remains.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(lock).st_mtime >= SECONDS_TO_LOCK:
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


# List and kill the descendants of a process, in any process group.
#
# A confined process is a subreaper (`lifetime.adopt_orphans`), so a process that was started in two
# steps, or has left its session, remains a descendant.

# Bound on the rounds, for a process that starts others faster than they are stopped.
MOST_ROUNDS = 64


def list_descendants(pid: int) -> list[int]:
    """Return the IDs of all descendants of process `pid`, parents before their children."""
    found = [pid]
    for each in found:
        found += [child for child in list_children(each) if child not in found]
    return found[1:]


def kill_descendants(pid: int) -> None:
    """Stop process `pid`, a child of this process, and kill all its descendants.

    Descendants are stopped first, until no new one appears, so that none can start another.
    """
    if sys.platform != "linux":  # only the process group is known there
        return
    _signal(pid, signal.SIGSTOP)
    stopped: set[int] = set()
    for _ in range(MOST_ROUNDS):
        new = set(list_descendants(pid)) - stopped
        if not new:
            break
        for each in new:
            _signal(each, signal.SIGSTOP)
        stopped |= new
    for each in stopped:
        _signal(each, signal.SIGKILL)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


PREFIX = "metalbench-of-"
LAST_WORDS_BYTES = 4000
SECONDS_TO_END = 10.0
# The folder that holds this package.
_ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir))
# Variables of a worker that are not set here. By default the threads of NumPy's OpenBLAS spin for
# 0.1 s after each product of matrices, which takes a core from the compilers; these sleep at once.
DEFAULTS = {"OPENBLAS_THREAD_TIMEOUT": "4"}
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
    With `leads_session` it has a separate session, which ends with it; else it joins ours. With
    `preload` the fork server of these modules starts it, which leads a session.
    """

    _is_registered = False

    def __init__(
        self,
        device: str,
        *,
        worker: str,
        channel: Callable[[Connection], End],
        leads_session: bool = True,
        preload: Preload | None = None,
    ) -> None:
        self._leads_session = leads_session
        ours, theirs = Pipe()
        end, lifeline = os.pipe()
        self._lifeline: int | None = lifeline
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._scratch = ScratchFolder(PREFIX)
        environment = {**DEFAULTS, **remove_secrets(os.environ)}
        self._child: subprocess.Popen[bytes] | ForkedProcess
        try:
            if preload is not None:
                server = get_fork_server(
                    preload, folders=list_import_folders(), environment=environment
                )
                self._child = server.start(
                    worker,
                    device,
                    {**environment, **self._make_folder_variables()},
                    channel=theirs.fileno(),
                    lifeline=end,
                    output=self._words.fileno(),
                )
            else:
                self._child = self._start_interpreter(worker, device, environment, theirs, end)
        finally:
            theirs.close()
            os.close(end)
        self.channel = channel(ours)

    def _start_interpreter(
        self,
        worker: str,
        device: str,
        environment: Mapping[str, str],
        channel: Connection,
        lifeline: int,
    ) -> subprocess.Popen[bytes]:
        program = (
            f"import sys; sys.path[:] = {list_import_folders()!r}; from {worker} import work"
            f"; work({channel.fileno()}, {lifeline}, {os.getpid()}, {device!r})"
        )
        child = subprocess.Popen(
            # Unbuffered: its output must be complete when it is killed after its reply.
            [sys.executable, "-u", "-c", program],
            env={**environment, **self._make_folder_variables()},
            stdin=subprocess.DEVNULL,
            stdout=self._words,
            stderr=self._words,
            pass_fds=(channel.fileno(), lifeline),
            start_new_session=self._leads_session,
        )
        self._register(child.pid)
        return child

    def _register(self, number: int) -> None:
        """Let the group of the process end with this process, however that ends."""
        if self._leads_session and not self._is_registered and number > 0:
            self._is_registered = True
            REAPER.add(number)

    @property
    def number(self) -> int:
        """The process ID. Waits until a process that is forked has one."""
        number = self._child.pid
        self._register(number)
        return number

    def end(self) -> None:
        """End the process and all its descendants. They have ended when this returns."""
        self._kill()
        if isinstance(self._child, ForkedProcess):
            self._child.close()
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
        if self._is_registered:
            self._is_registered = False
            REAPER.remove(self._child.pid)

    def _signal(self, number: signal.Signals) -> None:
        # A process that could not be forked has no ID; 0 would be the group of this process.
        if self.number > 0:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, number)

    def _make_folder_variables(self) -> dict[str, str]:
        """Return the environment variables that name the only writable folders."""
        return {
            "METALBENCH_CACHE": str(build_cache.find_cache_folder()),
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
