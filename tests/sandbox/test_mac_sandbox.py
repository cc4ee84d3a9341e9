"""On macOS a process has one sandbox, which its children inherit: executors get the narrow one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from metalbench.workers import worker

# What a judge and its executor do in one process, which as on macOS takes one sandbox only.
PROGRAM = """
import resource, sys
sys.platform = "darwin"
from metalbench.errors import Unsupported
from metalbench.sandbox import confinement
from metalbench.sandbox.landlock import Files
on_a_mac = confinement._confine_on_mac
entered = []
def enter(profile):
    if entered:
        raise Unsupported("sandbox: Operation not permitted")
    entered.append(profile)
confinement.enter_sandbox = enter
judge = on_a_mac(None, starts_executors=JUDGE)
on_a_mac(Files())
resource.setrlimit = lambda *_: None
held = confinement.seal()
print(judge, "|", entered == [confinement.SEALED_PROFILE], "|", list(held.missing))
"""


def run(*, starts_executors: bool) -> list[str]:
    program = PROGRAM.replace("JUDGE", str(starts_executors))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.strip().split(" | ")


def test_an_executor_is_sealed_below_a_judge() -> None:
    assert run(starts_executors=True) == ["the sandbox of its executors", "True", "[]"]


def test_a_process_without_executors_has_the_wider_sandbox_itself() -> None:
    means, sealed, lacking = run(starts_executors=False)
    assert means == "the sandbox"
    assert sealed == "False"
    assert "not permitted" in lacking


def test_judges_leave_the_sandbox_to_their_executors(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def confine(*_: object, **options: bool) -> str:
        asked.append(options["starts_executors"])
        raise InterruptedError

    monkeypatch.setattr(worker, "confine", confine)
    with pytest.raises(InterruptedError):
        worker.work(0, 0, 0, "cpu")
    assert asked == [True]
