"""End the process groups of workers when this process dies without a chance to end them itself.

A worker dies with its parent, its compilers do not: they may be stopped (SIGSTOP) while something
is measured, and a stopped process never notices that its parent is gone. So a small shell process
waits for the end of this one, which it sees by a pipe, and kills the groups that are left.
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
    """Kills the process groups that are added when this process ends, however it does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._owner = 0
        self._pipe = -1
        self._shell: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        """Kill `group` at the end of this process."""
        with self._lock:
            if self._owner != os.getpid():
                self._start()
            self._groups.add(group)
            self._send()

    def remove(self, group: int) -> None:
        """Let `group` alone, which has ended: its number may be given to another one."""
        with self._lock:
            if group in self._groups:
                self._groups.remove(group)
                self._send()

    def _start(self) -> None:
        """Start the shell; a process that was forked from this one starts its own."""
        end, self._pipe = os.pipe()
        self._owner, self._groups = os.getpid(), set()
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                # Ctrl-C at a terminal is not for it.
                start_new_session=True,
            )
        finally:
            os.close(end)
        atexit.register(self._end, self._owner)

    def _end(self, owner: int) -> None:
        """End the shell with this process, where there is time to: nothing is left behind then."""
        if os.getpid() == owner and self._shell is not None:
            os.close(self._pipe)
            self._shell.wait()
            self._shell = None

    def _send(self) -> None:
        # Somebody may have killed the shell; then workers still die with this process.
        with suppress(BrokenPipeError):
            os.write(self._pipe, f"{' '.join(map(str, sorted(self._groups)))}\n".encode())


REAPER = GroupReaper()
