"""Where a new task goes: two files and a text in the folder of its set, all of them or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from metalbench.errors import DeclarationError

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
                raise DeclarationError(
                    f"[{name}] {path} is already there; choose another --name, or replace it with "
                    "--force"
                )

    def write(self, name: str, texts: Mapping[str, str]) -> tuple[Path, ...]:
        """Write `texts` by their suffixes; if one cannot be written, none is."""
        self.check(name)
        self.path.mkdir(parents=True, exist_ok=True)
        written: list[Path] = []
        try:
            with tempfile.TemporaryDirectory(dir=self.path, prefix=".weld-") as beside:
                for suffix, text in texts.items():
                    (Path(beside) / suffix).write_text(text, encoding="utf-8")
                for suffix in texts:
                    path = self.path / f"{name}{suffix}"
                    self._place(Path(beside) / suffix, path)
                    written.append(path)
        except BaseException:
            for path in written if not self.force else ():
                path.unlink()
            raise
        return tuple(written)

    def _place(self, source: Path, path: Path) -> None:
        if self.force:
            source.replace(path)
            return
        try:
            # Unlike a renaming, this fails if somebody else was faster.
            os.link(source, path)
        except FileExistsError:
            self.check(path.stem)
            raise
        except OSError:
            # A file system without links.
            with path.open("x", encoding="utf-8") as file:
                file.write(source.read_text(encoding="utf-8"))
