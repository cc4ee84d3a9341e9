"""The kernels that there are for a set of tasks, as a folder of generations."""

from __future__ import annotations

import json
from pathlib import Path

from metalbench.errors import DeclarationError, suggestion
from metalbench.generations.folder import (
    FILE,
    SamplePlan,
    get_level_name,
    get_sample_path,
    read_plan,
    write,
    write_plan,
)
from metalbench.kernel.header import read
from metalbench.kernel.library import Library


def collect(root: Path, set_name: str, library: Library, chip: str | None = None) -> int:
    """Write the kernel for `chip` of each of the set's tasks as sample 0, and tell how many.

    Tasks that have none are planned for, and so count as failed. What else the folder holds, and
    its `id`, stay. Raises DeclarationError for an unknown set, MachineError if a file cannot be
    written.
    """
    known = library.sets()
    if set_name not in known:
        raise DeclarationError(f"--collect {set_name}: {suggestion(set_name, known)}")
    level, names = get_level_name(set_name), library.names(set_name)
    plan = read_plan(root) if (root / FILE).is_file() else SamplePlan({}, 1)
    problems = {**plan.problems, level: list(range(1, len(names) + 1))}
    write_plan(root, SamplePlan(problems, plan.samples, plan.id, plan.asked))
    found = [(n, library.entry(name)) for n, name in enumerate(names, 1)]
    solved = [(number, entry) for number, entry in found if entry.kernel_paths]
    for number, entry in solved:
        sample = get_sample_path(root, level, number, 0)
        write(sample.with_suffix(".metal"), read(entry.kernel_path(chip), entry.name).source, root)
        write(sample.with_suffix(".json"), json.dumps({"task": entry.name}) + "\n", root)
    return len(solved)
