"""The folder of a session on the other machine, in which files lie as they do at home."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from metalbench.comparison.match import Match
from metalbench.errors import EncodingError, MachineError
from metalbench.isolation.scratch import Scratch
from metalbench.kernel import Kernel
from metalbench.kernel.library import Entry
from metalbench.run.trial import Trial

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
        self._scratch = Scratch(PREFIX, numbered=True)
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
