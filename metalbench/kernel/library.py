"""Finding tasks and kernels by folder, without importing any task before it is used."""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

from metalbench.errors import DeclarationError, MetalBenchError, TaskError, suggestion
from metalbench.kernel import header, installed
from metalbench.kernel.device_defaults import TargetDevice, device_names
from metalbench.kernel.header import Kernel
from metalbench.task import Task

SETS = ("common", "standard", "full")
# Sets of problems from elsewhere, each in a folder of that name: they are there for whoever names
# them or one of their tasks.
SUITES = ("kernelbench/level1", "kernelbench/level2", "kernelbench/level3")
# What language models and their like are made of, a folder each in `families`. They are the
# library's own, but too many to be run whenever nobody names any.
FAMILIES = tuple(
    f"families/{name}"
    for name in (
        "elementwise",
        "reduction",
        "norm",
        "rope",
        "gemm",
        "quantised",
        "attention",
        "cache",
        "experts",
        "recurrent",
        "transform",
        "random",
        "convolution",
        "vision",
        "audio",
        "indexing",
    )
)
NAMED = (*SUITES, *FAMILIES)
ALL = "all"
# A family's tasks that other sets have, one name a line.
ALSO = "also.txt"


@dataclass
class Entry:
    """A task and the kernel files that solve it; those of the user's folders come first.

    `orphaned` says what is missing where there are only kernel files.
    """

    name: str
    set: str
    task_path: Path
    kernel_paths: list[Path] = field(default_factory=list)
    orphaned: str = ""

    @cached_property
    def description(self) -> str:
        """The first line of the task file's docstring; the file is parsed but not run.

        Raise TaskError if it cannot be.
        """
        self._check_task_file()
        tree = _parse(self.task_path)
        return (ast.get_docstring(tree) or "").partition("\n")[0]

    @cached_property
    def task(self) -> Task:
        """The declared task. Imports its file, and with it MLX.

        Raise TaskError, with file and line, if the file cannot be imported or declares no such
        task.
        """
        self._check_task_file()
        module = f"metalbench_tasks.{self.set.replace('/', '.')}.{self.name}"
        return _load(self.name, self.task_path, module)

    def _check_task_file(self) -> None:
        if self.orphaned:
            raise TaskError(self.orphaned)

    @property
    def unsolved(self) -> bool:
        """Whether it is a problem of a suite for which nobody has brought a kernel yet."""
        return self.set in SUITES and not self.kernel_paths

    def kernel_path(self, chip: str | None = None) -> Path:
        """The file for `chip` ("m4_max"): made for it, else for its family ("m4"), else for all.

        A user's folder wins over the library. Raise DeclarationError if there is no kernel.
        """
        wanted = [f"{self.name}.metal"]
        if chip:
            family = chip.partition("_")[0]
            wanted = [f"{self.name}.{chip}.metal", f"{self.name}.{family}.metal", *wanted]
        folders = list(dict.fromkeys(path.parent for path in self.kernel_paths))
        for folder in folders:
            for file in wanted:
                if folder / file in self.kernel_paths:
                    return folder / file
        raise DeclarationError(
            f"[{self.name}] no kernel; write {self.name}.metal beside {self.task_path.name} "
            "or into a folder given as --kernels"
        )

    def kernel(self, device: TargetDevice | None = None) -> Kernel:
        """The kernel for `device`, of its chip's file and with its defaults, else for any device.

        Raise as `kernel_path` and `kernel.read`.
        """
        if device is None:
            return header.read(self.kernel_path(), self.name)
        return header.read(self.kernel_path(device.chip), self.name).on(device_names(device))


class Library:
    """The tasks of the library's own folder and of `folders`, later ones overriding earlier ones.

    A user's folder may hold NAME.py with NAME.metal, or NAME.metal alone for a known task. What is
    wrong with a task, or that a kernel has none, shows when its entry is used. Raises
    DeclarationError for a folder that does not exist.

    The tasks of suites and families are found by their names and sets; iterating, counting and
    listing without a set leave them out.
    """

    def __init__(self, folders: Iterable[Path | str] = (), *, root: Path | None = None) -> None:
        self._entries: dict[str, Entry] = {}
        self._orphans: list[Path] = []
        self._also: dict[str, list[str]] = {}
        root = root or installed.library_folder()
        for name in (*SETS, *NAMED):
            if (root / name).is_dir():
                self._add(root / name, name)
        for folder in folders:
            self._add_user_folder(Path(folder))
        known = list(self._entries)
        for path in self._orphans:
            name = path.name.partition(".")[0]
            if name not in known:
                missing = (
                    f"[{name}] {path} solves no known task: {suggestion(name, known)}; "
                    f"a new task needs {name}.py beside it"
                )
                task_path = path.with_name(f"{name}.py")
                self._entries[name] = Entry(name, "user", task_path, [path], missing)

    def __iter__(self) -> Iterator[Entry]:
        return (each for each in self._entries.values() if each.set not in NAMED)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def sets(self) -> list[str]:
        """Names of all sets: also of all levels of a suite, all families, and families alone."""
        own = [*(each.set for each in self._entries.values()), *self._also]
        whole = [each.partition("/")[0] for each in own]
        alone = [each.rpartition("/")[2] for each in own if each in FAMILIES]
        return list(dict.fromkeys([*own, *whole, *alone, ALL]))

    def names(self, set_name: str | None = None) -> list[str]:
        """Return names of all tasks, or of those of one set, in the library's order.

        Those of suites and families are there only if their set is named, or what it is one of
        ("kernelbench", "families"), or a family alone ("attention"). "all" are all but suites'.
        """
        if set_name is None:
            return [each.name for each in self]
        if set_name == ALL:
            return [each.name for each in self._entries.values() if each.set not in SUITES]
        family = set_name if set_name in FAMILIES else f"families/{set_name}"
        wanted = {set_name, family} if family in FAMILIES else {set_name}
        own = (each for each in self._entries.values())
        found = [e.name for e in own if wanted & {e.set, e.set.partition("/")[0]}]
        return [*self._also.get(family, ()), *found]

    def entry(self, name: str) -> Entry:
        """Return the task called `name`; the DeclarationError suggests similar names."""
        if name not in self._entries:
            hint = suggestion(name, self._entries)
            if not hint.startswith("did"):
                hint = "`metalbench list` shows all"
            raise DeclarationError(f"unknown kernel {name!r}; {hint}")
        return self._entries[name]

    def _add_user_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            raise DeclarationError(f"--kernels {folder}: expected a folder, found none")
        self._add(folder, "user")
        for inner in sorted(each for each in folder.iterdir() if each.is_dir()):
            self._add(inner, inner.name)

    def _add(self, folder: Path, set_name: str) -> None:
        if set_name in FAMILIES and (folder / ALSO).is_file():
            self._also[set_name] = (folder / ALSO).read_text(encoding="utf-8").split()
        for path in sorted(folder.glob("*.py")):
            if not path.name.startswith("_"):
                known = self._entries.get(path.stem)
                kernels_so_far = known.kernel_paths if known else []
                self._entries[path.stem] = Entry(path.stem, set_name, path, kernels_so_far)
        for path in sorted(folder.glob("*.metal"), reverse=True):
            entry = self._entries.get(path.name.partition(".")[0])
            if entry is None:
                self._orphans.append(path)
            else:
                entry.kernel_paths.insert(0, path)


def find(
    names: Sequence[str] = (), set_name: str | None = None, folders: Iterable[Path | str] = ()
) -> list[Entry]:
    """The tasks called `names`, or without names all (of one set); DeclarationError if unknown."""
    library = Library(folders)
    known = library.sets()
    if set_name is not None and set_name not in known:
        raise DeclarationError(f"unknown set {set_name!r}; {suggestion(set_name, known)}")
    return [library.entry(name) for name in names or library.names(set_name)]


def load_task(path: Path) -> Task:
    """Return the task that the file at `path` declares under its own name, as it is now.

    Raise TaskError, with file and line, where it cannot be imported or declares none.
    """
    return _load(path.stem, path, f"metalbench_tasks.{path.stem}")


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"), str(path))
    except SyntaxError as error:
        raise TaskError(_syntax_error(path, error)) from error
    except (OSError, ValueError) as error:
        raise TaskError(f"[{path.stem}] {path} cannot be read: {error}") from error


def _syntax_error(path: Path, error: SyntaxError) -> str:
    # Of another file, which the task imports.
    where = path if error.filename in (None, str(path)) else f"{path}: {error.filename}"
    return f"[{path.stem}] {where}:{error.lineno}: SyntaxError: {error.msg}"


def _place(path: Path, error: BaseException) -> str:
    """File and line of the task file at which it raised `error`."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)


class _AsItIs(SourceFileLoader):
    """Reads a file's text each time: bytecode is kept by the second, and edits may be faster."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the text."""
        return self.source_to_code(self.get_data(self.path), self.path)


def _load(name: str, path: Path, module_name: str) -> Task:
    loader = _AsItIs(module_name, str(path))
    spec = importlib.util.spec_from_file_location(module_name, path, loader=loader)
    if spec is None or spec.loader is None:
        raise TaskError(f"[{name}] {path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise TaskError(_syntax_error(path, error)) from error
    except MetalBenchError as error:
        raise TaskError(f"{error} ({_place(path, error)})") from error
    except (Exception, SystemExit) as error:  # the user's code: whatever it raises is its fault
        cause = f"{type(error).__name__}: {error}"
        where = _place(path, error)
        raise TaskError(f"[{name}] {where} cannot be imported: {cause}") from error
    declared = getattr(module, name, None)
    if not isinstance(declared, Task):
        raise TaskError(f"[{name}] {path}: expected a function {name!r} under @task(...)")
    return declared
