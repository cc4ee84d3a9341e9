"""The share of the specification's compute library that is tested, by the inventory.

`python tests/msl/test_coverage.py` prints the numbers.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


def inventory() -> tuple[dict[str, set[str]], dict[str, str]]:
    """Functions by section, and the reasons for those that are left out."""
    content = tomllib.loads((HERE / "inventory.toml").read_text())
    reasons = content.pop("left_out")
    content.pop("left_out_sections")
    return {section: set(entry["functions"]) for section, entry in content.items()}, reasons


def collect_covered() -> dict[str, set[str]]:
    """Return the functions that the tests of this folder cover, by section."""
    found: dict[str, set[str]] = {}
    for path in sorted(HERE.glob("test_*.py")):
        if path.stem == "test_coverage":
            continue
        covers = getattr(importlib.import_module(f"msl.{path.stem}"), "COVERS", {})
        for section, names in covers.items():
            found.setdefault(section, set()).update(names)
    return found


def test_the_tests_cover_the_specification():
    sections, reasons = inventory()
    tested = collect_covered()
    everything = {(section, name) for section, names in sections.items() for name in names}
    done = {(section, name) for section, names in tested.items() for name in names}
    assert done <= everything, f"not in the inventory: {sorted(done - everything)}"
    missing = {entry for entry in everything - done if entry[1] not in reasons}
    assert not missing, f"neither tested nor left out for a reason: {sorted(missing)}"
    assert len(done) >= 0.98 * len(everything)


def test_every_reason_is_needed_and_given():
    sections, reasons = inventory()
    names = set().union(*sections.values())
    assert set(reasons) <= names
    assert all(len(reason) > 10 for reason in reasons.values())


def main() -> None:
    """Print the coverage of every section and what is left out."""
    sys.path.insert(0, str(HERE.parent))
    sections, reasons = inventory()
    tested = collect_covered()
    total = sum(map(len, sections.values()))
    for section, names in sections.items():
        print(f"{len(names & tested.get(section, set())):4} of {len(names):3}  {section}")
    count = sum(len(names & tested.get(section, set())) for section, names in sections.items())
    print(f"{count:4} of {total:3}  ({count / total:.1%})")
    for name, reason in reasons.items():
        print(f"left out: {name}: {reason}")


if __name__ == "__main__":
    main()
