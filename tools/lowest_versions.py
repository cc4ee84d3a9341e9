"""Print the lowest versions that pyproject.toml allows of each dependency, as pip's constraints.

    python tools/lowest_versions.py > lowest.txt
    pip install -c lowest.txt . hypothesis pytest pytest-xdist
    pytest $(python tools/lowest_versions.py --tests)

`--tests` prints the tests that such an environment runs: those that use a dependency's interface.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = (
    "tests/test_tiny.py",
    "tests/test_foreign_text.py",
    "tests/report",
    "tests/kernel",
    "tests/task",
    "tests/stats",
    "tests/cli/test_commands.py",
    "tests/cli/test_run.py",
    "tests/cli/test_unwritable.py",
    "tests/metal_kernel/test_calls.py",
    "tests/steel/cli/test_command.py",
)
_REQUIREMENT = re.compile(r'"([A-Za-z0-9_.-]+)(?:\[[\w,]+\])?>=([\d.]+)[^"]*"')


def lowest(text: str) -> dict[str, str]:
    """Return the version by package of the list `dependencies` of a pyproject.toml."""
    listed = text.partition("\ndependencies = [")[2].partition("\n]")[0]
    lines = [line for line in listed.splitlines() if line.strip()]
    found = [_REQUIREMENT.search(line) for line in lines]
    missing = [line for line, match in zip(lines, found, strict=True) if match is None]
    if missing:
        raise SystemExit(f"pyproject.toml: expected NAME>=VERSION, got {missing[0].strip()}")
    return {match[1]: match[2] for match in found if match}


def main() -> None:
    """Print constraints, or with `--tests` the tests."""
    if "--tests" in sys.argv[1:]:
        print(*TESTS)
        return
    for name, version in lowest((ROOT / "pyproject.toml").read_text(encoding="utf-8")).items():
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
