"""A pytest plugin that appends a line of JSON before each test and for each outcome.

If the process ends, the record names the current test and the tests before it.
METALBENCH_SUITE_RECORD is the file. Tests that have begun in it already are skipped. After
METALBENCH_SUITE_SECONDS no further test begins.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import monotonic

import pytest

RECORD = Path(os.environ["METALBENCH_SUITE_RECORD"])
SECONDS = float(os.environ.get("METALBENCH_SUITE_SECONDS", "inf"))
# Length of a recorded message: the error is at its end.
MAX_CHARACTERS = 6000
_STARTED = monotonic()


def read_records():
    """Return each recorded test with its outcome and reason; "begun" if it did not end."""
    lines = RECORD.read_text().splitlines() if RECORD.exists() else []
    return {name: (outcome, why) for name, outcome, why in map(json.loads, lines)}


def note(name, outcome, why=""):
    with RECORD.open("a") as file:
        file.write(json.dumps([name, outcome, why]) + "\n")


def pytest_collection_modifyitems(items):
    begun = read_records()
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
