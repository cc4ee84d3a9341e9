"""A GPU trace that comes in parts; what it is made of may only be files within it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath
from types import TracebackType

from metalbench.errors import EncodingError, MachineError
from metalbench.remote.messages import Part


class Trace:
    """Files under `path`, or `path` itself of a trace that is one file; there when all have come.

    As a context it leaves nothing behind if an error ends it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unfinished = path.with_name(path.name + ".part")

    def __enter__(self) -> Trace:
        self._remove()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None and self._unfinished.exists():
                os.replace(self._unfinished, self._path)
        except OSError as failed:
            raise MachineError(f"{self._path} cannot be written: {failed.strerror}") from failed
        finally:
            self._remove()

    def add(self, part: Part) -> None:
        """Append to a file; raises EncodingError for a name that leads out of the trace."""
        name = PurePosixPath(part.path)
        if name.is_absolute() or ".." in name.parts or "\0" in part.path:
            raise EncodingError(f"trace: expected the path of a file within it, got {part.path!r}")
        path = self._unfinished / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(part.data)
        except OSError as failed:
            raise MachineError(f"{path} cannot be written: {failed.strerror}") from failed

    def _remove(self) -> None:
        if self._unfinished.is_dir():
            shutil.rmtree(self._unfinished, ignore_errors=True)
        else:
            self._unfinished.unlink(missing_ok=True)
