"""Files that a killed process leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from metalbench.sandbox import process
from metalbench.workers import remote_files

SESSION = """
import sys, time
from pathlib import Path
from metalbench.workers.remote_files import SessionFolder

SessionFolder(Path("/home/me"), Path("/usr/include"))
print("ready", flush=True)
sys.stdin.read()
"""


WORKER = """
import sys
from metalbench.workers.channel import Channel
from metalbench.sandbox.process import Process

started = Process("cpu", worker="metalbench.workers.worker", channel=Channel.for_run)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("program", "prefix"), [(SESSION, remote_files.PREFIX), (WORKER, process.PREFIX)]
)
def test_folders_of_the_dead_are_removed_and_those_of_the_living_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, prefix: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as session:
        assert session.stdout is not None
        assert session.stdout.readline() == "ready\n"
        (made,) = tmp_path.glob(f"{prefix}*")
        os.utime(made, (0, 0))
        process.remove_abandoned(prefix)
        assert made.is_dir()
        session.send_signal(signal.SIGKILL)
        session.wait()
        process.remove_abandoned(prefix)
        assert not made.exists()
    # One that is just being made is not locked yet.
    new = Path(tempfile.mkdtemp(prefix=prefix))
    process.remove_abandoned(prefix)
    assert new.is_dir()
