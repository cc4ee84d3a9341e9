"""JAX's own tests through the plugin: what became of them, by cause.

    python tests/hlo/suites_of_jax.py RECORD ...

prints what the records of earlier runs say.
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
# What no kernel has, by what the refusal says, in the order of asking.
UNSUPPORTED = {
    "complex numbers": r"complex<f64>|complex128",
    "f64": r"element type f64",
    "floats of eight bits and fewer": r"element type f[4-8]E",
}
# What JAX itself has no rule for on a platform that it does not know.
NO_RULE = r"translation rule for primitive '(\w+)' not found"
REFUSED = r"UNIMPLEMENTED: \[?([\w. ]*\w)"
_NOTHING_LEFT = 5
# A process ends at most so often before it is given up.
MAX_ENDS = 30


@dataclass
class Judged:
    """Counts of tests, and of those that failed, by cause."""

    passed: int = 0
    skipped: int = 0
    unsupported: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """Of those with supported types, how many passed."""
        return self.passed / max(self.passed + self.failed.total(), 1)

    def __str__(self) -> str:
        lines = [
            f"{self.passed} passed, {self.failed.total()} failed ({self.share:.1%}), "
            f"{self.unsupported.total()} with types that no kernel has, {self.skipped} skipped"
        ]
        lines += [f"  {count} {cause}" for cause, count in self.unsupported.most_common()]
        return "\n".join(lines + [f"  {n} failed: {why}" for why, n in self.failed.most_common()])


def judged(record: Path) -> Judged:
    """What a record says."""
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
    """The last error of a message, in short."""
    if rule := re.search(NO_RULE, why):
        return f"JAX has no rule for {rule[1]}"
    errors = re.findall(r"^E? *((?:[\w.]*Error|AssertionError)\b[^\n]*)", why, re.MULTILINE)
    return (errors[-1] if errors else why.strip().rpartition("\n")[2])[:160]


def run(test_file: Path, record: Path, seconds: float) -> None:
    """Run a file of tests, as far as the time is enough for; again after a process has ended."""
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
        # Ended by itself: all of it, or the time was up.
        if done.returncode in (0, 1, _NOTHING_LEFT):
            return
    raise AssertionError(f"{test_file}: ended {MAX_ENDS} times: {done.stdout[-2000:]!r}")


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(each, judged(Path(each)))
