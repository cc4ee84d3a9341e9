"""Where a new task goes: two files and a text in the folder of its set, all of them or none."""

from __future__ import annotations

import ast
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from agent_steel.proposal import Usage
from agent_steel.welding.draft import Draft, valid_name
from metalbench.errors import DeclarationError, MetalBenchError
from metalbench.kernel.library import Library

if TYPE_CHECKING:
    from metalbench.store.result import Result


SUFFIXES = (".py", ".metal", ".md")


@dataclass(frozen=True)
class Destination:
    """The folder of a set within the user's folder; `force` replaces what is there."""

    folder: Path
    set_name: str
    force: bool = False

    @property
    def path(self) -> Path:
        """The folder of the files."""
        return self.folder / self.set_name

    def check_set(self) -> None:
        """Raise DeclarationError if the set cannot be called so."""
        if not valid_name(self.set_name):
            raise DeclarationError(
                f"--set: expected lower-case letters, digits and underscores, got {self.set_name!r}"
            )

    def names(self) -> set[str]:
        """Return the names that are taken by existing files."""
        if self.force or not self.path.is_dir():
            return set()
        return {each.name.partition(".")[0] for each in self.path.iterdir()}

    def check(self, name: str) -> None:
        """Raise DeclarationError if a file is in the way."""
        for suffix in SUFFIXES:
            path = self.path / f"{name}{suffix}"
            if path.exists() and not self.force:
                raise self._in_the_way(path)

    def write(self, name: str, texts: Mapping[str, str]) -> tuple[Path, ...]:
        """Write the `texts` of a task by their file names; if one cannot be written, none is."""
        self.check(name)
        self.path.mkdir(parents=True, exist_ok=True)
        written: list[Path] = []
        try:
            with tempfile.TemporaryDirectory(dir=self.path, prefix=".weld-") as beside:
                for file, text in texts.items():
                    (Path(beside) / file).write_text(text, encoding="utf-8")
                for file in texts:
                    path = self.path / file
                    self._place(Path(beside) / file, path)
                    written.append(path)
        except BaseException:
            for path in written if not self.force else ():
                path.unlink()
            raise
        return tuple(written)

    @staticmethod
    def _in_the_way(path: Path) -> DeclarationError:
        return DeclarationError(
            f"[{path.stem}] {path} is already there; choose another --name, or replace it with "
            "--force"
        )

    def _place(self, source: Path, path: Path) -> None:
        if self.force:
            source.replace(path)
            return
        try:
            # Unlike a renaming, this fails if somebody else was faster.
            os.link(source, path)
        except FileExistsError:
            raise self._in_the_way(path) from None
        except OSError:
            # A file system without links.
            with path.open("x", encoding="utf-8") as file:
                file.write(source.read_text(encoding="utf-8"))


# The Welder's order, and its error.

# Says whether the Python of a draft may be run; it gets the file's name and text.
Agree = Callable[[str, str], bool]


class WelderError(MetalBenchError):
    """No task came of it. `usage` is what that has cost, and `draft` the last one, if any."""

    usage: Usage = Usage()
    draft: Draft | None = None


@dataclass(frozen=True)
class Order:
    """The request of the user. `name` is the task's; with '' the model selects it.

    `reference` is a Python file of the user's that says what is right, by `function` ('' if it has
    but one). Up to `rounds` drafts are checked, and with `polish` one more.
    """

    description: str
    destination: Destination
    name: str = ""
    reference: Path | None = None
    function: str = ""
    rounds: int = 4
    polish: bool = True
    seed: int = 0

    def check(self) -> None:
        """Raise DeclarationError for what cannot be made, before anything is asked."""
        if not self.description.strip():
            raise DeclarationError("--description: expected what is to be computed, got nothing")
        if self.rounds < 1:
            raise DeclarationError(f"--rounds: expected 1 or more, got {self.rounds}")
        self.destination.check_set()
        if self.reference is not None and not self.reference.is_file():
            raise DeclarationError(f"--reference {self.reference}: expected a file, found none")
        if self.name:
            check_name(self.name, self.destination)


def check_name(name: str, destination: Destination) -> None:
    """Raise DeclarationError for a name that no new task can have in `destination`."""
    destination.check_set()
    if not valid_name(name):
        raise DeclarationError(
            f"--name: expected lower-case letters, digits and underscores, got {name!r}"
        )
    if name in Library().names():
        raise DeclarationError(
            f"--name: the library has a task called {name!r}; choose another with --name"
        )
    destination.check(name)


# The text that goes with a new task: what it is, how it was checked, and its figures.


@dataclass(frozen=True)
class Account:
    """A new task for its reader: title, files with what they are, author and checks."""

    name: str
    title: str
    summary: str
    files: Mapping[str, str]
    author: str
    checks: Sequence[str]


def contribution(
    account: Account,
    *,
    destination: Destination,
    result: Result | None,
    remarks: Sequence[str] = (),
    figures: bool = True,
) -> str:
    """Return the text, as Markdown. Without a `result` it says that nothing was timed.

    `remarks` follow the checks. Without `figures` there is no kernel to time yet.
    """
    name = account.name
    return "\n".join(
        (
            f"# {name}: {account.title}",
            "",
            account.summary,
            "",
            *(f"* `{destination.set_name}/{file}`: {what}" for file, what in account.files.items()),
            "",
            f"Written by {account.author}.",
            "",
            "## How it was checked",
            "",
            f"By MetalBench {version('metalbench')}:",
            "",
            *(f"* {each}" for each in account.checks),
            *(line for each in remarks for line in ("", each)),
            "",
            "Once more:" if figures else f"Once more, and when `{name}.metal` is written:",
            "",
            f"    metalbench admit {name} --kernels {destination.folder}",
            f"    metalbench run {name} --kernels {destination.folder}",
            "",
            *(["## Figures", "", *_figures(result)] if figures else []),
        )
    )


def account_of_draft(draft: Draft, checks: Sequence[str], author: str) -> Account:
    """Return the account of a draft by a model."""
    task = ast.get_docstring(ast.parse(draft.task)) or draft.name
    files = {f"{draft.name}.py": "the task", f"{draft.name}.metal": "the kernel"}
    return Account(draft.name, task.splitlines()[0], draft.summary, files, author, checks)


NO_REFERENCE = (
    "What is right was written by the same author as the kernel: no reference of anybody else was "
    "given. Read the oracle before you rely on it."
)


def _figures(result: Result | None) -> list[str]:
    if result is None:
        return ["Nothing was timed. `metalbench run` with `--markdown FILE` makes the table.", ""]
    from metalbench.report.ci import to_markdown

    # Its heading is ours already.
    _, _, table = to_markdown([result], result.seconds).partition("\n")
    return [table.strip(), ""]
