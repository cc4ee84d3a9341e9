"""Kill the process groups of workers if this process dies without a chance to end them.

A worker dies with its parent. Its compilers do not: they may be stopped (SIGSTOP) during a
measurement, and a stopped process does not react to the end of its parent. A small shell process
waits for the end of this process on a pipe, and kills the remaining groups.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from contextlib import suppress

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
