"""Report the lines of csrc/metal that the tests execute: `python -m metal_double.line_coverage`.

Builds the double's `_core` once more, with clang noting which blocks of csrc/metal ran, runs the
tests of the Metal device on it, and maps blocks to lines by the debug information. Run it from
tests/; `--show` also lists the lines that were not reached.
"""

from __future__ import annotations

import argparse
import bisect
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile
from metal_double.build import CHECKOUT, Tree
from metal_double.suite import TESTS, run

SOURCES = CHECKOUT / "csrc" / "metal"
# A block's code follows its address, as clang lays blocks out without optimisation.
Lines = dict[str, dict[int, bool]]


def build() -> Path:
    """Build the instrumented extension; only what has changed."""
    tree = Tree(CHECKOUT / "build" / "metal_double" / "coverage")
    tree.bring_up_to_date(
        "-DMETALBENCH_METAL_DOUBLE=ON",
        "-DMETALBENCH_METAL_COVERAGE=ON",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
    )
    return tree.extension


def blocks_of(record: Path) -> dict[int, bool]:
    """Return whether each block, by its address, ran in any process."""
    found: dict[int, bool] = defaultdict(bool)
    for line in record.read_text().splitlines():
        address, seen = line.split()
        found[int(address, 16)] |= seen == "1"
    return found


def covered_lines(extension: Path, blocks: dict[int, bool]) -> Lines:
    """Return by file and line whether any code of the line ran."""
    starts = sorted(blocks)
    lines: Lines = defaultdict(lambda: defaultdict(bool))
    for path, line, address in _rows(extension):
        block = bisect.bisect_right(starts, address) - 1
        if block >= 0:
            lines[path][line] |= blocks[starts[block]]
    return lines


def _rows(extension: Path) -> Iterator[tuple[str, int, int]]:
    """The line table's statements in csrc/metal: file, line, address."""
    with extension.open("rb") as stream:
        information = ELFFile(stream).get_dwarf_info()
        for unit in information.iter_CUs():
            program = information.line_program_for_CU(unit)
            if program is None:
                continue
            names = _files(program, unit)
            for entry in program.get_entries():
                state = entry.state
                if state is None or state.end_sequence or not state.is_stmt or state.line == 0:
                    continue
                path = names.get(state.file, "")
                if path:
                    yield path, state.line, state.address


def _files(program, unit) -> dict[int, str]:
    """Return the unit's files in csrc/metal by their number."""
    header = program.header
    folder = unit.get_top_DIE().attributes["DW_AT_comp_dir"].value.decode()
    folders = [each.decode() for each in header.include_directory]
    first = 0 if header.version >= 5 else 1
    found = {}
    for number, entry in enumerate(header.file_entry, first):
        within = folders[entry.dir_index - first] if entry.dir_index >= first else ""
        path = Path(folder, within, entry.name.decode()).resolve()
        if path.is_relative_to(SOURCES):
            found[number] = str(path.relative_to(CHECKOUT))
    return found


def report(lines: Lines, *, show: bool) -> float:
    """Print a table by file; gives the share of all lines that ran."""
    total = reached = 0
    for path in sorted(lines):
        each = lines[path]
        total, reached = total + len(each), reached + sum(each.values())
        print(f"{path:42} {sum(each.values()):4} of {len(each):4}  {_share(each):6.1%}")
        if show:
            missed = [line for line, ran in sorted(each.items()) if not ran]
            if missed:
                print(f"    not reached: {', '.join(map(str, missed))}")
    share = reached / total
    print(f"{'all':42} {reached:4} of {total:4}  {share:6.1%}")
    return share


def _share(lines: dict[int, bool]) -> float:
    return sum(lines.values()) / len(lines)


def main() -> int:
    """Build, run, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="list the lines that were not reached")
    parser.add_argument("--least", type=float, default=0.9, help="exit with 1 below this share")
    parser.add_argument("tests", nargs="*", default=TESTS)
    arguments = parser.parse_args()
    extension = build()
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "blocks"
        status = run(extension, arguments.tests, {"METAL_DOUBLE_COVERAGE": str(record)})
        share = report(covered_lines(extension, blocks_of(record)), show=arguments.show)
    return 1 if status != 0 or share < arguments.least else 0


if __name__ == "__main__":
    sys.exit(main())
