"""Groups of processes end with the one that registered them, even if they are stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups")

PARENT = """
import os, signal, subprocess, sys
from metalbench.sandbox.process import REAPER
child = subprocess.Popen(
    ["/bin/sh", "-c", "sleep 1000 & sleep 1000"], stdout=WRITE, start_new_session=True
)
REAPER.add(child.pid)
if REMOVED:
    REAPER.remove(child.pid)
if STOPPED:
    os.killpg(child.pid, signal.SIGSTOP)
print(child.pid, flush=True)
END
"""


def parent_of_a_group(end: str, *, stopped: bool, removed: bool = False) -> tuple[int, int]:
    """Start a group in a process that ends by `end`; return the group and a pipe's reading end.

    The members of the group hold the pipe's other end.
    """
    reading, writing = os.pipe()
    code = PARENT.replace("WRITE", str(writing)).replace("END", end)
    code = code.replace("STOPPED", str(stopped)).replace("REMOVED", str(removed))
    done = subprocess.run(
        [sys.executable, "-c", code],
        pass_fds=(writing,),
        stdout=subprocess.PIPE,
        check=False,
        text=True,
    )
    os.close(writing)
    return int(done.stdout), reading


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize(
    "end",
    [
        "os.kill(os.getpid(), signal.SIGKILL)",
        "signal.signal(13, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGPIPE)",
        "os._exit(0)",
        "sys.exit(1)",
        "os.abort()",
    ],
)
def test_a_group_ends_with_its_parent(end: str, stopped: bool) -> None:
    _, reading = parent_of_a_group(end, stopped=stopped)
    # The pipe ends when no member of the group is left; a stopped one would hold it forever.
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b""


def test_a_removed_group_is_ignored() -> None:
    group, reading = parent_of_a_group("os._exit(0)", stopped=False, removed=True)
    os.killpg(group, 0)
    os.killpg(group, signal.SIGKILL)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b""
