"""A plugin of pytest: a line of JSON before each test and for each outcome, as it comes.

So that what a process that ended was at is known, and what came before it. METALBENCH_SUITE_RECORD
is the file that is appended to; tests that it begins already are left out. After
METALBENCH_SUITE_SECONDS no other begins.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import monotonic

import pytest

RECORD = Path(os.environ["METALBENCH_SUITE_RECORD"])
SECONDS = float(os.environ.get("METALBENCH_SUITE_SECONDS", "inf"))
# Of a message: its end has the error.
MAX_CHARACTERS = 6000
_STARTED = monotonic()


def known():
    """Each test that is recorded, by its name: how it ended and why; "begun" if it did not."""
    lines = RECORD.read_text().splitlines() if RECORD.exists() else []
    return {name: (outcome, why) for name, outcome, why in map(json.loads, lines)}


def note(name, outcome, why=""):
    with RECORD.open("a") as file:
        file.write(json.dumps([name, outcome, why]) + "\n")


def pytest_collection_modifyitems(items):
    begun = known()
    items[:] = [each for each in items if each.name not in begun]


def pytest_runtest_logstart(nodeid):
    note(nodeid.split("::")[-1], "begun")


def pytest_runtest_logreport(report):
    name = report.nodeid.split("::")[-1]
    if report.failed:
        note(name, "failed", str(report.longrepr)[-MAX_CHARACTERS:])
    elif report.skipped:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        note(name, "skipped", why)
    elif report.when == "call":
        note(name, "passed")


def pytest_runtest_logfinish(nodeid):
    if monotonic() - _STARTED > SECONDS:
        raise pytest.exit.Exception(f"stopped after {SECONDS:g} s", returncode=0)
