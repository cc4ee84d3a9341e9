"""Read and write a folder of generations: samples by problem, and their provenance.

``RUN/run.json`` is the plan. ``RUN/level_1/problem_7/sample_0.metal`` or ``sample_0.py`` is a
sample, and ``sample_0.json`` its provenance. Samples of other programs are valid too, with or
without the JSON files.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import msgspec

from metalbench.errors import DeclarationError, MachineError, suggestion
from metalbench.json_files import ShortText, read_json
from metalbench.kernel.header import read
from metalbench.kernel.library import Library
from metalbench.kernel.source_files import read_candidate
from metalbench.untrusted_files import check_inside, replace_file

FILE = "run.json"
KERNELBENCH = "kernelbench"
_PROBLEM = re.compile(r"problem_(\d{1,6})", re.ASCII)
_SAMPLE = re.compile(r"sample_(\d{1,6})\.(?:metal|py)", re.ASCII)
_LEVEL = re.compile(r"level_?(\d+)")
# Names of problems and samples have 6 digits at most.
MOST_NUMBER = 999_999
# Missing samples are counted one by one.
MOST_PLANNED = 1_000_000
MOST_PROVENANCE_BYTES = 16 << 20
Number = Annotated[int, msgspec.Meta(ge=0, le=MOST_NUMBER)]


@dataclass(frozen=True)
class SampleFile:
    """A sample's file; `ending` is the model's stop reason, empty if unknown.

    If `is_outside`, the file is a link to a place outside of the folder or not a regular file, and
    is not read. `fault` describes a defect of the sample's files, other than its text.
    """

    level: str
    problem: int
    number: int
    path: Path
    task: str = ""
    ending: str = ""
    is_outside: bool = False
    fault: str = ""

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"{self.level}/problem_{self.problem}/sample_{self.number}"

    def hash(self) -> str:
        """Return SHA-256 of the file, in hexadecimal; of one that cannot be read, of the reason."""
        try:
            data = self.read()
        except DeclarationError as error:
            data = str(error).encode(errors="backslashreplace")
        if self.fault:
            # A sample whose files have been repaired is evaluated again.
            data += b"\0" + self.fault.encode(errors="backslashreplace")
        return hashlib.sha256(data).hexdigest()

    def read(self) -> bytes:
        """Return the bytes of the file.

        Raise DeclarationError for what is not a plain, short file, or a link out of the folder, and
        for a sample with a fault.
        """
        if self.fault:
            raise DeclarationError(self.fault)
        if self.is_outside:
            raise DeclarationError(
                f"{self.path.name}: expected a file in the folder of generations, got a link that "
                "leads out of it, or no regular file; it was not read"
            )
        return read_candidate(self.path)


@dataclass(frozen=True)
class SamplePlan:
    """The planned contents of a folder: `problems` by level, and the number of `samples` of each.

    `id` identifies a folder, also after it is moved. `asked` describes the prompts.
    """

    problems: Mapping[str, Sequence[int]]
    samples: int
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    asked: Mapping[str, Any] = field(default_factory=dict)


def get_set_name(level: str) -> str:
    """The set of tasks that a folder's problems are: ``level_1`` is ``kernelbench/level1``."""
    found = _LEVEL.fullmatch(level)
    return f"{KERNELBENCH}/level{found[1]}" if found else level


def get_level_name(set_name: str) -> str:
    """The name of the folder for a set of tasks; the other way round than `get_set_name`."""
    suite, _, level = set_name.rpartition("/")
    found = _LEVEL.fullmatch(level)
    return f"level_{found[1]}" if suite == KERNELBENCH and found else set_name


def get_sample_path(root: Path, level: str, problem: int, sample: int) -> Path:
    """Return the path of a sample without its suffix."""
    return root / level / f"problem_{problem}" / f"sample_{sample}"


def find_samples(root: Path) -> list[SampleFile]:
    """Return every sample of a folder, by level, problem and number.

    Provenance that cannot be read is a fault of its sample. Raise DeclarationError for what is not
    a folder of samples.
    """
    if not root.is_dir():
        raise DeclarationError(f"{root}: expected a folder of generations, found none")
    found: list[SampleFile] = []
    inside = root.resolve()
    for path in sorted(root.glob("*/problem_*/sample_*.*")):
        problem, number = _PROBLEM.fullmatch(path.parent.name), _SAMPLE.fullmatch(path.name)
        if problem and number:
            about = path.with_suffix(".json")
            task, ending, fault = (
                ("", "", "") if _is_outside(about, inside) else _read_provenance(about)
            )
            level = path.parent.parent.name
            out = _is_outside(path, inside)
            place = level, int(problem[1]), int(number[1])
            found.append(SampleFile(*place, path, task, ending, out, fault))
    found = _merge_duplicates(found)
    if not found and not (root / FILE).is_file():
        raise DeclarationError(
            f"{root}: expected files such as level_1/problem_7/sample_0.metal, found none"
        )
    return sorted(found, key=lambda each: (each.level, each.problem, each.number))


def find_misplaced_files(root: Path) -> list[Path]:
    """Return the .metal and .py files of a folder, relative to it, that are not samples."""
    files = (each for depth in ("*", "*/*", "*/*/*") for each in root.glob(depth))
    return sorted(
        each.relative_to(root)
        for each in files
        if each.suffix in (".metal", ".py")
        and not (_SAMPLE.fullmatch(each.name) and _PROBLEM.fullmatch(each.parent.name))
    )


def select_problems(found: Sequence[SampleFile], pattern: str | None) -> list[SampleFile]:
    """Return the samples whose ``level_1/problem_7`` matches a glob pattern, all for None.

    A pattern without a slash is for problems of every level. Raise DeclarationError if none match.
    """
    if pattern is None:
        return list(found)
    whole = pattern if "/" in pattern else f"*/{pattern}"
    chosen = [each for each in found if fnmatchcase(f"{each.level}/problem_{each.problem}", whole)]
    if found and not chosen:
        raise DeclarationError(
            f"--problems {pattern}: expected a pattern of problems such as "
            f"{found[0].level}/problem_{found[0].problem}, and none matches"
        )
    return chosen


def _is_outside(path: Path, folder: Path) -> bool:
    """Return whether a path, with links resolved, is not a regular file in `folder`."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):  # of links in a circle
        return True
    return not (real.is_relative_to(folder) and real.is_file())


def _merge_duplicates(samples: Sequence[SampleFile]) -> list[SampleFile]:
    """The first file of each sample; that there are several is its fault."""
    found: dict[tuple[str, int, int], SampleFile] = {}
    for each in samples:
        place = each.level, each.problem, each.number
        first = found.setdefault(place, each)
        if first is not each and not first.fault:
            names = f"{first.path.name} and {each.path.name}"
            found[place] = replace(first, fault=f"{each.name}: expected one file, got {names}")
    return list(found.values())


def read_plan(root: Path, *, make: bool = False) -> SamplePlan:
    """Return what the folder is to hold, by its ``run.json``; without one what it holds now.

    `make` writes the file where there is none, so that the folder has an `id` to be known by.
    Raise DeclarationError for a file that cannot be read or is a link out of the folder, and for
    one that is missing and not to be made.
    """
    path = root / FILE
    if path.is_symlink():
        check_inside(path, root)
    if path.is_file():
        return _parse_plan(path)
    samples = find_samples(root)
    if not make:
        raise DeclarationError(f"{root}: nothing is known of it; run `metalbench evaluate` first")
    problems: dict[str, list[int]] = {}
    for each in samples:
        # A name that is not Unicode text is not the name of a level.
        if not _is_text(each.level):
            continue
        if each.problem not in problems.setdefault(each.level, []):
            problems[each.level].append(each.problem)
    plan = SamplePlan(problems, 1 + max(each.number for each in samples))
    check_planned(plan, path)
    write_plan(root, plan)
    return plan


def write_plan(root: Path, plan: SamplePlan) -> None:
    """Write ``run.json``."""
    write(root / FILE, json.dumps(asdict(plan), indent=2) + "\n", root)


def write(path: Path, text: str, root: Path) -> None:
    """Write a file of the folder `root`, all of it or nothing.

    Raise DeclarationError for a path that leads out of `root` by a link, MachineError for what
    cannot be written.
    """
    try:
        replace_file(path, text, inside=root)
    except OSError as error:
        raise MachineError(f"{path} cannot be written: {error.strerror}") from error


def check_planned(plan: SamplePlan, path: Path) -> None:
    """Raise DeclarationError for a plan of more samples than can be counted one by one."""
    planned = plan.samples * sum(map(len, plan.problems.values()))
    if planned > MOST_PLANNED:
        raise DeclarationError(
            f"{path}: expected at most {MOST_PLANNED} samples of all problems, got {planned}"
        )


class PlanFile(msgspec.Struct):
    """The content of ``run.json``."""

    problems: dict[str, list[Number]]
    samples: Annotated[int, msgspec.Meta(ge=1, le=MOST_PLANNED)]
    id: ShortText
    asked: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not any(self.problems.values()):
            raise ValueError('problems: expected at least one, as in {"level_1": [1, 2]}')


def _parse_plan(path: Path) -> SamplePlan:
    found = read_json(path, PlanFile)
    problems = {level: list(dict.fromkeys(numbers)) for level, numbers in found.problems.items()}
    plan = SamplePlan(problems, found.samples, found.id, found.asked or {})
    check_planned(plan, path)
    return plan


class Provenance(msgspec.Struct):
    """The fields of a sample's provenance file that are read."""

    task: ShortText | None = None
    ending: ShortText | None = None


def _read_provenance(path: Path) -> tuple[str, str, str]:
    """Return task, stop reason and fault from the provenance file of a sample."""
    if not path.is_file():
        return "", "", ""
    try:
        found = read_json(path, Provenance, most_bytes=MOST_PROVENANCE_BYTES)
    except DeclarationError as error:
        return "", "", str(error)
    return found.task or "", found.ending or "", ""


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


# The kernels that there are for a set of tasks, as a folder of generations.


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
