"""Send the files of a trial: the task, its imported modules, and the headers of the kernel."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from metalbench.compare.head_to_head import Match, MatchOutcome
from metalbench.errors import EncodingError, MachineError
from metalbench.kernel.header import Kernel
from metalbench.kernel.library import Entry
from metalbench.kernel.source_files import find_headers, include_folders, read_header
from metalbench.run.trial import Trial
from metalbench.sandbox.process import ScratchFolder
from metalbench.store.result import Failure, Result

_PACKAGES = frozenset({"site-packages", "dist-packages"})


def read_trial_files(entry: Entry, kernel: Kernel) -> dict[Path, bytes]:
    """The content of every file that a trial of `kernel` reads; its own text travels with it."""
    folders = [Path(each) for each in include_folders(kernel.path, kernel.include_dirs)]
    headers = find_headers(kernel.source, folders, lambda path: read_header(path, folders))
    task = entry.task_path
    found = {task: task.read_bytes()} if task.is_file() else {}
    return found | headers.files


def read_task_modules(entry: Entry) -> dict[Path, bytes]:
    """The content of the Python files that the task imports, by their path on Python's path."""
    return {
        file.relative_to(folder): file.read_bytes()
        for file, folder in _find_modules(entry.task_path)
    }


def _find_modules(path: Path) -> Iterator[tuple[Path, Path]]:
    """Files that a task's file imports, and those import, with the folder on Python's path.

    What is installed is expected there, too.
    """
    seen, waiting = {path}, [path]
    while waiting:
        for name in _find_imports(waiting.pop()):
            for file, folder in _find_module_files(name):
                if file not in seen:
                    seen.add(file)
                    waiting.append(file)
                    yield file, folder


def _find_imports(path: Path) -> Iterator[str]:
    """Yield the top-level package of every import. Yield nothing if the file does not parse."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _find_module_files(name: str) -> list[tuple[Path, Path]]:
    """A module's file, or all of a package's; none of what is installed."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return []
    path = Path(spec.origin)
    if name == "metalbench" or _is_installed(path):
        return []
    if path.name != "__init__.py":
        return [(path, path.parent)]
    return [(each, path.parents[1]) for each in sorted(path.parent.rglob("*.py"))]


def _is_installed(path: Path) -> bool:
    if not _PACKAGES.isdisjoint(path.parts):
        return True
    return any(path.is_relative_to(sysconfig.get_path(each)) for each in ("stdlib", "platstdlib"))


# The folder of a session on the other machine, in which files lie as they do at home.

MODULES = "modules"
HOME = "home"
PREFIX = "metalbench-on-"


class SessionFolder:
    """Everything that came, and nothing else; absolute paths begin anew at its `root`.

    Relative ones stay as they are: this process, and those that it starts, work in the folder that
    stands for the one at home. So errors name files as they are called there.
    """

    def __init__(self, home: Path, headers: Path) -> None:
        # Compiled kernels are kept by the paths of what they are made of.
        self._scratch = ScratchFolder(PREFIX, numbered=True)
        self._top = self._scratch.path
        self.root = self._top / HOME
        self._headers = self._map_path(headers)
        (self._top / MODULES).mkdir()
        working = self._map_path(home)
        working.mkdir(parents=True)
        os.chdir(working)
        sys.path.append(str(self._top / MODULES))

    def write_file(self, path: Path, data: bytes) -> None:
        """Write a file; raises EncodingError for a path that leads out of the folder.

        MachineError if the disk does not take it.
        """
        _write(self._map_path(path), data, self.root)

    def write_module(self, path: Path, data: bytes) -> None:
        """Write a module of Python, where it is found."""
        _write(self._top / MODULES / path, data, self._top / MODULES)

    def map_trial(self, trial: Trial) -> Trial:
        """The same trial of the files that are here."""
        return replace(
            trial, entry=self._map_entry(trial.entry), kernel=self._map_kernel(trial.kernel)
        )

    def map_match(self, match: Match) -> Match:
        """The same match of the files that are here."""
        return replace(
            match,
            entry=self._map_entry(match.entry),
            before=self._map_kernel(match.before),
            after=self._map_kernel(match.after),
        )

    def restore_paths(self, text: str) -> str:
        """A message with the paths that files have at home."""
        return text.replace(str(self.root), "")

    def remove(self) -> None:
        """Remove it all."""
        self._scratch.remove()

    def _map_path(self, path: Path) -> Path:
        return self.root / path.relative_to("/") if path.is_absolute() else path

    def _map_entry(self, entry: Entry) -> Entry:
        kernels = [self._map_path(each) for each in entry.kernel_paths]
        return replace(entry, task_path=self._map_path(entry.task_path), kernel_paths=kernels)

    def _map_kernel(self, kernel: Kernel) -> Kernel:
        folders = (*map(self._map_path, kernel.include_dirs), self._headers)
        return replace(kernel, path=self._map_path(kernel.path), include_dirs=folders)


def _write(path: Path, data: bytes, within: Path) -> None:
    # What `..` names lexically: nothing here is a link.
    whole = Path(os.path.abspath(path))
    if not whole.is_relative_to(within):
        raise EncodingError(f"file: expected a path within the session's folder, got {path}")
    try:
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_bytes(data)
    except OSError as error:
        raise MachineError(f"{path} cannot be written there: {error.strerror}") from error


# Results of another machine with the paths of this one in what they say.

Words = Callable[[str], str]


def translate_result(result: Result, words: Words) -> Result:
    """The result with `words` of every message."""
    failures = tuple(_failure(each, words) for each in result.failures)
    return replace(result, failures=failures, notes=tuple(map(words, result.notes)))


def translate_outcome(outcome: MatchOutcome, words: Words) -> MatchOutcome:
    """The outcome with `words` of every message."""
    failure = outcome.failure and _failure(outcome.failure, words)
    return replace(outcome, failure=failure, notes=tuple(map(words, outcome.notes)))


def _failure(failure: Failure, words: Words) -> Failure:
    return replace(failure, message=words(failure.message))
