"""Write KERNELS.md, the overview of the kernel library; `--check` says whether it is current.

python tools/kernels_md.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from metalbench.kernel.library import FAMILIES, Entry, Library
from metalbench.report import numbers

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "KERNELS.md"
SIZE = "seed"
INTRODUCTION = f"""\
# The kernel library

Written by `python tools/kernels_md.py` from the tasks and the headers of the kernels. Shapes,
floating-point operations and bytes (the least that must be moved, in float32) are those of the size
`{SIZE}`; `metalbench show NAME` tells the other sizes.
"""
SETS = {
    "common": "Single operations, and the fusions that every network is made of.",
    "standard": "What transformers are built from.",
    "full": "Whole models and blocks.",
}
FAMILIES_INTRODUCTION = """\
# Families

What language models and their like live on, by family. They run when they are named:
`metalbench run --set attention`, `--set families`, or `--all`. A family has tasks of the sets above
as well, which are named here and not repeated.
"""


def overview(library: Library) -> str:
    """Return the text of KERNELS.md."""
    parts = [INTRODUCTION]
    for name, entries in groupby(library, lambda entry: entry.set):
        tasks = list(entries)
        count = numbers.count(len(tasks), "task")
        parts.append(f"## {name}\n\n{SETS[name]} {count}.\n\n" + "\n".join(_table(tasks)) + "\n")
    parts.append(FAMILIES_INTRODUCTION)
    parts += [_family(library, family) for family in FAMILIES]
    return "\n".join(parts)


def _family(library: Library, family: str) -> str:
    entries = [library.entry(name) for name in library.names(family)]
    own = [each for each in entries if each.set == family]
    others = [f"[{e.name}](kernels/{e.set}/{e.name}.metal)" for e in entries if e.set != family]
    lines = [
        f"## {family.rpartition('/')[2]}",
        "",
        f"{numbers.count(len(own), 'task')} declared here.",
    ]
    if others:
        lines += ["", f"Of other sets: {', '.join(others)}."]
    if own:
        lines += ["", *_table(own)]
    return "\n".join([*lines, ""])


def _table(entries: Sequence[Entry]) -> Iterator[str]:
    yield "| task | what | technique | types | shapes | operations | bytes |"
    yield "|---|---|---|---|---|---|---|"
    for entry in entries:
        yield "| " + " | ".join(_row(entry)) + " |"


def _row(entry: Entry) -> Iterator[str]:
    task, path = entry.task, entry.kernel_path()
    kernel = entry.kernel()
    yield f"[{entry.name}](kernels/{entry.set}/{path.name})"
    yield _cell(entry.description)
    yield _cell(kernel.description.partition(". ")[0])
    yield ", ".join(kernel.dtypes)
    yield _shapes(entry)
    yield numbers.quantity(task.flops(SIZE), "FLOP") if task.flops(SIZE) else "-"
    yield numbers.size(task.bytes(SIZE, "float32"))


def _shapes(entry: Entry) -> str:
    values = entry.task.values(SIZE)
    sides = (
        ", ".join("x".join(map(str, each.shape_at(values))) or "1" for each in side.values())
        for side in (entry.task.inputs, entry.task.outputs)
    )
    return " -> ".join(sides)


def _cell(text: str) -> str:
    return text.rstrip(".").replace("|", "\\|")


def main(arguments: Sequence[str]) -> int:
    """Write the file, or with `--check` compare."""
    text = overview(Library(root=ROOT / "kernels"))
    if "--check" not in arguments:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    current = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text
    if not current:
        print(f"{TARGET.name} is not current: run `python tools/kernels_md.py`", file=sys.stderr)
    return int(not current)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
