"""List the tests that take most of the time of the suite, for its short form.

    pytest -n 2 --record-costs FILE; python tools/list_costs.py FILE...

It reads the records of one or several runs and writes tests/costs.txt: a line for each test of
which a case took at least half a second, with that time in s, in falling order. Tests that no
record has keep their lines as long as a file of that name exists.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "costs.txt"
LEAST_SECONDS = 0.5


def read_costs(lines: Iterable[str]) -> dict[str, float]:
    """Return the time in s of the longest case of each test, by the name of the test."""
    found: dict[str, float] = {}
    for line in lines:
        case, seconds = json.loads(line)
        test = case.partition("[")[0]
        found[test] = max(seconds, found.get(test, 0.0))
    return found


def merge(kept: str, recorded: Mapping[str, float], root: Path) -> str:
    """Return the text of the list from the text it has and the recorded times."""
    costs = {name: float(seconds) for name, seconds in map(str.split, kept.splitlines())}
    costs = {name: of for name, of in costs.items() if (root / name.split("::")[0]).is_file()}
    # Rounded as in the file, so that a list made anew from the file is the same.
    costs |= {name: round(seconds, 1) for name, seconds in recorded.items()}
    least = sorted((-seconds, name) for name, seconds in costs.items() if seconds >= LEAST_SECONDS)
    return "".join(f"{name} {-seconds:.1f}\n" for seconds, name in least)


def main() -> None:
    """Write the list from the records that the command line names."""
    if not sys.argv[1:]:
        raise SystemExit(__doc__)
    lines = [line for path in sys.argv[1:] for line in Path(path).read_text().splitlines()]
    kept = LIST.read_text() if LIST.exists() else ""
    LIST.write_text(merge(kept, read_costs(lines), ROOT))


if __name__ == "__main__":
    main()
