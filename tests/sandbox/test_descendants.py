"""No process stays: all that a worker has started ends with it."""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from sandbox import planting

from metalbench.sandbox.process import Process, list_descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists children")


def is_there(pid: int) -> bool:
    """Return whether a process runs, or is stopped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


@pytest.mark.parametrize("leads_session", [True, False], ids=["leads a session", "in ours"])
@pytest.mark.parametrize("plant", planting.PLANTS)
def test_descendants_of_a_worker_end_with_it(
    plant: str, leads_session: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = tmp_path / "left"
    monkeypatch.setenv("METALBENCH_TEST_FILE", str(listed))
    monkeypatch.setenv("METALBENCH_TEST_PLANTS", plant)
    process: Process[Connection] = Process(
        "", worker="sandbox.planting", channel=lambda ours: ours, leads_session=leads_session
    )
    try:
        assert process.channel.poll(60), process.read_output_tail()
        assert process.channel.recv_bytes() == b"planted"
        left = [int(line) for line in listed.read_text().split()]
        assert len(left) == planting.PLANTS[plant][0]
        assert set(left) <= set(list_descendants(process.number))
        assert all(map(is_there, left))
    finally:
        process.end()
    # A killed process may still be on its way out.
    for number in left:
        _wait_for_end(number)
    assert not any(map(is_there, left))


def _wait_for_end(number: int) -> None:
    import select

    try:
        descriptor = os.pidfd_open(number)
    except ProcessLookupError:
        return
    watched = select.poll()
    watched.register(descriptor, select.POLLIN)
    assert watched.poll(20_000), "a process is left behind"
    os.close(descriptor)


START_A_PROCESS = """
import os
from metalbench.sandbox import seccomp
seccomp.install_filter(*seccomp.make_executor_policy(os.getppid()), every_thread=False)
try:
    START
except PermissionError:
    os._exit(7)
"""


@pytest.mark.parametrize("start", ["os.fork()", "os.posix_spawn('/bin/true', ['true'], {})"])
def test_an_executor_cannot_start_a_process_before_its_seal(start: str) -> None:
    # In a separate process: a test process may have threads, which make a fork unsafe.
    program = START_A_PROCESS.replace("START", start)
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 7
