"""One process at a time has a device, and lets go of it however it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from agent_steel.device_lock import DeviceLock
from metalbench.errors import MachineError

HOLD = """
import sys
from pathlib import Path
from agent_steel.device_lock import DeviceLock
with DeviceLock(Path(sys.argv[1]), "cpu").hold():
    print("held", flush=True)
    sys.stdin.readline()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


@pytest.mark.parametrize("killed", [False, True])
def test_other_processes_wait_for_the_lock(tmp_path: Path, killed: bool) -> None:
    events: list[str] = []

    def measure() -> None:
        with DeviceLock(tmp_path, "cpu").hold(lambda: events.append("waiting")):
            events.append("measured")

    with holder(tmp_path) as child:
        measuring = Thread(target=measure)
        measuring.start()
        while "waiting" not in events:
            assert measuring.is_alive()
        assert events == ["waiting"]
        if killed:
            child.kill()
        else:
            child.communicate("\n")
        measuring.join(60)
    assert events == ["waiting", "measured"]


def test_another_device_is_free(tmp_path: Path) -> None:
    with DeviceLock(tmp_path, "cpu").hold(), DeviceLock(tmp_path, "metal: M4").hold(pytest.fail):
        assert sorted(each.name for each in tmp_path.iterdir()) == [
            "device-cpu.lock",
            "device-metal-M4.lock",
        ]


def test_an_unusable_folder_is_reported_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="--db"), DeviceLock(tmp_path / "file", "cpu").hold():
        pass
