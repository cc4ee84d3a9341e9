"""A GPU trace that comes in parts; what it is made of may only be files within it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path, PurePosixPath
from types import TracebackType

from metalbench.errors import EncodingError, MachineError
from metalbench.remote.messages import TracePart

NAME = "trace"


class TraceWriter:
    """Files under `path`, or `path` itself of a trace that is one file; there when all have come.

    As a context it leaves nothing behind if an error ends it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder: Path | None = None

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None and self._folder is not None:
                os.replace(self._folder / NAME, self._path)
        except OSError as failed:
            raise MachineError(f"{self._path} cannot be written: {failed.strerror}") from failed
        finally:
            self._remove()

    def add(self, part: TracePart) -> None:
        """Append to a file; raises EncodingError for a name that leads out of the trace."""
        name = PurePosixPath(part.path)
        if name.is_absolute() or ".." in name.parts or "\0" in part.path:
            raise EncodingError(f"trace: expected the path of a file within it, got {part.path!r}")
        path = self._path
        try:
            if self._folder is None:
                # A name that nobody can have prepared a link at.
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._folder = Path(tempfile.mkdtemp(prefix=".", dir=self._path.parent))
            path = self._folder / NAME / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(part.data)
        except OSError as failed:
            raise MachineError(f"{path} cannot be written: {failed.strerror}") from failed

    def _remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
