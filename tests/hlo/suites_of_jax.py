"""Run JAX's tests through the plugin, and count failures by cause.

Usage: python tests/hlo/suites_of_jax.py RECORD ...

It prints a summary of the records of earlier runs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent
# Unsupported features, by the text of the refusal, in the order of the tests.
UNSUPPORTED = {
    "floats of six bits": r"element type f6E",
    "double precision on metal": r"Metal's language has no double",
}
# Operations without a rule of JAX for an unknown platform.
NO_RULE = r"translation rule for primitive '(\w+)' not found"
REFUSED = r"UNIMPLEMENTED: \[?([\w. ]*\w)"
_NOTHING_LEFT = 5
# Crashes after which a file of tests is abandoned.
MAX_ENDS = 30


@dataclass
class Judged:
    """Counts of tests, and of failures by cause."""

    passed: int = 0
    skipped: int = 0
    unsupported: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """Return the share of the tests with supported types that passed."""
        return self.passed / max(self.passed + self.failed.total(), 1)

    def __str__(self) -> str:
        lines = [
            f"{self.passed} passed, {self.failed.total()} failed ({self.share:.1%}), "
            f"{self.unsupported.total()} with types that no kernel has, {self.skipped} skipped"
        ]
        lines += [f"  {count} {cause}" for cause, count in self.unsupported.most_common()]
        return "\n".join(lines + [f"  {n} failed: {why}" for why, n in self.failed.most_common()])


def summarize_record(record: Path) -> Judged:
    """Return the counts of a record."""
    found = Judged()
    lines = record.read_text().splitlines()
    last = {name: (outcome, why) for name, outcome, why in map(json.loads, lines)}
    for name, (outcome, why) in last.items():
        if outcome in ("passed", "skipped"):
            setattr(found, outcome, getattr(found, outcome) + 1)
            continue
        types = next((each for each, form in UNSUPPORTED.items() if re.search(form, why)), None)
        if types and "UNIMPLEMENTED" in why:
            found.unsupported[types] += 1
        else:
            found.failed[f"{name}: the process ended" if outcome == "begun" else cause(why)] += 1
    return found


def cause(why: str) -> str:
    """Return the last error of a message, shortened."""
    if rule := re.search(NO_RULE, why):
        return f"JAX has no rule for {rule[1]}"
    errors = re.findall(r"^E? *((?:[\w.]*Error|AssertionError)\b[^\n]*)", why, re.MULTILINE)
    return (errors[-1] if errors else why.strip().rpartition("\n")[2])[:160]


def run(test_file: Path, record: Path, seconds: float) -> None:
    """Run a file of tests within a time limit; continue after a process has ended."""
    ini = record.with_suffix(".ini")
    ini.write_text("[pytest]\n")
    variables = {
        "JAX_PLATFORMS": "metalbench,cpu",
        "METALBENCH_JAX_DEVICE": "cpu",
        "METALBENCH_SUITE_RECORD": str(record),
        "METALBENCH_SUITE_SECONDS": str(seconds),
        "PYTHONPATH": str(FOLDER),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "recording_of_jax", "-p", "no:xdist"]
    command += ["-p", "no:cacheprovider", "-c", str(ini), str(test_file)]
    for _ in range(MAX_ENDS):
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            env={**os.environ, **variables},
            cwd=test_file.parent,
        )
        # The process exited: all tests have run, or the time limit was reached.
        if done.returncode in (0, 1, _NOTHING_LEFT):
            return
    raise AssertionError(f"{test_file}: ended {MAX_ENDS} times: {done.stdout[-2000:]!r}")


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(each, summarize_record(Path(each)))
