"""A folder of generations: which samples of which problems there are, and where they come from.

``RUN/run.json`` says what was to be written; ``RUN/level_1/problem_7/sample_0.metal`` is a sample,
or ``sample_0.py``, and ``sample_0.json`` beside it its provenance. Samples that other programs have
put there do as well, with or without the JSON files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from metalbench.errors import DeclarationError, MachineError
from metalbench.kernel.candidate_file import read_candidate

FILE = "run.json"
KERNELBENCH = "kernelbench"
_PROBLEM = re.compile(r"problem_(\d+)")
_SAMPLE = re.compile(r"sample_(\d+)\.(?:metal|py)")
_LEVEL = re.compile(r"level_?(\d+)")


@dataclass(frozen=True)
class Sample:
    """A sample's file; `ending` is how the model's answer ended, empty where nobody has said.

    One that `leads_out` is a link to a place outside of the folder, or no regular file: it is not
    read.
    """

    level: str
    problem: int
    number: int
    path: Path
    task: str = ""
    ending: str = ""
    leads_out: bool = False

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"{self.level}/problem_{self.problem}/sample_{self.number}"

    def hash(self) -> str:
        """Return SHA-256 of the file, in hexadecimal; of one that cannot be read, of the reason."""
        try:
            data = self.read()
        except DeclarationError as error:
            data = str(error).encode(errors="backslashreplace")
        return hashlib.sha256(data).hexdigest()

    def read(self) -> bytes:
        """Return the bytes of the file.

        Raise DeclarationError for what is not a plain, short file, or a link out of the folder.
        """
        if self.leads_out:
            raise DeclarationError(
                f"{self.path.name}: expected a file in the folder of generations, got a link that "
                "leads out of it, or no regular file; it was not read"
            )
        return read_candidate(self.path)


@dataclass(frozen=True)
class Plan:
    """What a folder is to hold: `problems` by level, so many `samples` of each; and by whom.

    `id` tells folders apart, also when they are moved. `asked` is how a model was asked.
    """

    problems: Mapping[str, Sequence[int]]
    samples: int
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    asked: Mapping[str, Any] = field(default_factory=dict)


def set_of(level: str) -> str:
    """The set of tasks that a folder's problems are: ``level_1`` is ``kernelbench/level1``."""
    found = _LEVEL.fullmatch(level)
    return f"{KERNELBENCH}/level{found[1]}" if found else level


def level_of(set_name: str) -> str:
    """The name of the folder for a set of tasks; the other way round than `set_of`."""
    suite, _, level = set_name.rpartition("/")
    found = _LEVEL.fullmatch(level)
    return f"level_{found[1]}" if suite == KERNELBENCH and found else set_name


def path_of(root: Path, level: str, problem: int, sample: int) -> Path:
    """Where a sample lies, without the suffix of its file."""
    return root / level / f"problem_{problem}" / f"sample_{sample}"


def samples_in(root: Path) -> list[Sample]:
    """Every sample of a folder, by level, problem and number.

    Raises DeclarationError for what is no folder of samples, or has wrong provenance.
    """
    if not root.is_dir():
        raise DeclarationError(f"{root}: expected a folder of generations, found none")
    found: list[Sample] = []
    inside = root.resolve()
    for path in sorted(root.glob("*/problem_*/sample_*.*")):
        problem, number = _PROBLEM.fullmatch(path.parent.name), _SAMPLE.fullmatch(path.name)
        if problem and number:
            about = path.with_suffix(".json")
            known = {} if _leads_out(about, inside) else _provenance(about)
            task, ending = str(known.get("task", "")), str(known.get("ending", ""))
            level = path.parent.parent.name
            out = _leads_out(path, inside)
            found.append(Sample(level, int(problem[1]), int(number[1]), path, task, ending, out))
    _check_each_once(found)
    if not found and not (root / FILE).is_file():
        raise DeclarationError(
            f"{root}: expected files such as level_1/problem_7/sample_0.metal, found none"
        )
    return sorted(found, key=lambda each: (each.level, each.problem, each.number))


def _leads_out(path: Path, folder: Path) -> bool:
    """Whether a path is no regular file in `folder`, which is resolved, once links are followed."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):  # of links in a circle
        return True
    return not (real.is_relative_to(folder) and real.is_file())


def _check_each_once(samples: Sequence[Sample]) -> None:
    seen: dict[str, Path] = {}
    for each in samples:
        other = seen.setdefault(each.name, each.path)
        if other != each.path:
            raise DeclarationError(
                f"{each.name}: expected one file, got {other.name} and {each.path.name}"
            )


def plan_of(root: Path, *, make: bool = False) -> Plan:
    """What the folder is to hold, by its ``run.json``; without one what it holds now.

    `make` writes the file where there is none, so that the folder has an `id` to be known by.
    Raises DeclarationError for a file that cannot be read, or that is missing and not to be made.
    """
    path = root / FILE
    if path.is_file():
        return _read_plan(path)
    samples = samples_in(root)
    if not make:
        raise DeclarationError(f"{root}: nothing is known of it; run `metalbench evaluate` first")
    problems: dict[str, list[int]] = {}
    for each in samples:
        if each.problem not in problems.setdefault(each.level, []):
            problems[each.level].append(each.problem)
    plan = Plan(problems, 1 + max(each.number for each in samples))
    write_plan(root, plan)
    return plan


def write_plan(root: Path, plan: Plan) -> None:
    """Write ``run.json``."""
    write(root / FILE, json.dumps(asdict(plan), indent=2) + "\n")


def write(path: Path, text: str) -> None:
    """Write a file of the folder, all of it or nothing; raises MachineError if that cannot be."""
    unfinished = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # What a model has written may be no text that can be: a lone surrogate.
        unfinished.write_text(text, encoding="utf-8", errors="replace")
        os.replace(unfinished, path)
    except OSError as error:
        raise MachineError(f"{path} cannot be written: {error.strerror}") from error


def _read_plan(path: Path) -> Plan:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        problems = {str(level): [int(n) for n in all_] for level, all_ in read["problems"].items()}
        plan = Plan(problems, int(read["samples"]), str(read["id"]), dict(read.get("asked", {})))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DeclarationError(
            f'{path}: expected {{"id": ..., "problems": {{"level_1": [1, 2]}}, "samples": 4}}, '
            f"got {error!r}"
        ) from None
    if plan.samples < 1 or not any(problems.values()):
        raise DeclarationError(f"{path}: expected at least one problem and sample, got none")
    return plan


def _provenance(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DeclarationError(f"{path} cannot be read: {error}") from None
    return read if isinstance(read, dict) else {}
