"""Read a kernel's file and its headers at a revision of their git repository."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from metalbench import _core
from metalbench.errors import CompileError, DeclarationError, MachineError
from metalbench.kernel.header import Kernel, read
from metalbench.kernel.source_files import (
    MissingHeader,
    decode_candidate,
    find_headers,
    include_folders,
    read_header,
)


def read_kernel_at(present: Kernel, path: Path, revision: str) -> Kernel:
    """Return the kernel of the file `path` as it was at git's `revision`, headers included.

    `present` is the kernel as it is now. The headers are in the source, where `#line` directives
    name them: workers read today's folders, and another machine has no repository. Headers outside
    of the kernel's repository are as they are now.

    Raises
    ------
    DeclarationError
        If the file is outside of a repository, `revision` is unknown or lacks the file or one of
        its headers, or the kernel's header was wrong then.
    CompileError
        If the source with all headers is too long.
    MachineError
        If git is missing.
    """
    if revision.startswith("-") or ":" in revision:
        raise DeclarationError(
            f"[{present.name}] {path.name}@{revision}: expected a revision of git, such as HEAD~1 "
            "or v1.0"
        )
    files = _FilesAtRevision(path, revision)
    then = read(path, present.name, files.read_text).on(present.target)
    then = replace(then, include_dirs=present.include_dirs)
    return then if then.is_python else replace(then, source=_inline_headers(then, files))


def _inline_headers(kernel: Kernel, files: _FilesAtRevision) -> str:
    """Return the source with the headers of a revision in place of its `#include`s."""
    folders = [Path(each).resolve() for each in include_folders(kernel.path, kernel.include_dirs)]
    headers = find_headers(kernel.source, folders, lambda path: files.read(path, folders))
    for missing in headers.missing:
        _check_missing(missing, folders, f"[{kernel.name}] {files.name_of(kernel.path)}")
    with tempfile.TemporaryDirectory(prefix="metalbench-") as scratch:

        def place(path: Path) -> str:
            """Return where a file lies in the scratch folder, which stands for the root."""
            return scratch + str(path)

        for folder in folders:
            os.makedirs(place(folder), exist_ok=True)
        for path, data in headers.files.items():
            os.makedirs(os.path.dirname(place(path)), exist_ok=True)
            Path(place(path)).write_bytes(data)
        main = folders[0] / kernel.path.name
        try:
            inlined = _core.with_includes(
                kernel.source,
                filename=place(main),
                include_dirs=[place(each) for each in folders],
                line_directives=True,
            )
        except CompileError as error:
            said = str(error).replace(scratch, "")
            raise CompileError(f"[{kernel.name}] {said}") from None
    return _rename_lines(inlined, scratch, {str(main): str(kernel.path)})


def _rename_lines(text: str, scratch: str, names: dict[str, str]) -> str:
    """Return a text whose `#line` directives name files by their own paths, or by `names`."""
    escaped = {_escape(old): _escape(new) for old, new in names.items()}
    return re.sub(
        rf'^(#line \d+ "){re.escape(_escape(scratch))}(.*)"$',
        lambda found: f'{found[1]}{escaped.get(found[2], found[2])}"',
        text,
        flags=re.M,
    )


def _escape(name: str) -> str:
    """Return a file name as a `#line` directive spells it."""
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _check_missing(missing: MissingHeader, folders: list[Path], where: str) -> None:
    """Raise DeclarationError for a header that today's folders have, and the revision lacks.

    A compiler would read today's. It reports a header that is in neither.
    """
    if not missing.places:
        raise DeclarationError(
            f"{where}: #include {missing.name}: expected the name of a header; one that a macro "
            "expands to cannot be read at a revision"
        )
    now = next((each for each in missing.places if read_header(each, folders) is not None), None)
    if now is not None:
        raise DeclarationError(
            f"{where}: it includes {missing.name}, which the revision lacks; {now} exists only "
            "now, so compare with a revision that has both"
        )


class _FilesAtRevision:
    """The files of a repository at a revision."""

    def __init__(self, path: Path, revision: str) -> None:
        """Find the repository that `path` lies in; raise MachineError if git is missing."""
        self.revision = revision
        self._top = _find_top(path.parent.resolve(), self.name_of(path))

    def name_of(self, path: Path) -> str:
        """Return the name of a file at the revision, for messages."""
        return f"{path.name}@{self.revision}"

    def read_text(self, path: Path) -> str:
        """Return the text of a kernel's file; raise DeclarationError if the revision lacks it."""
        real = _real_path(path)
        data = self._read_blob(real)
        if data is not None:
            return decode_candidate(data, self.name_of(path))
        # Its message says whether the revision or the file is unknown.
        done = _run_git(real.parent, "show", f"{self.revision}:./{real.name}")
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise DeclarationError(
            f"{self.name_of(path)}: git says: {said}; `git log -- {real.name}` in {real.parent} "
            "lists the revisions"
        )

    def read(self, path: Path, folders: list[Path]) -> bytes | None:
        """Return a header within `folders`, of now if it is outside of the repository."""
        plain = Path(os.path.normpath(path))
        if not plain.is_relative_to(self._top):
            return read_header(path, folders)
        is_readable = any(plain.is_relative_to(folder) for folder in folders)
        return self._read_blob(plain) if is_readable else None

    def _read_blob(self, path: Path) -> bytes | None:
        """Return the content of a file; None if the repository lacks it at the revision."""
        # A line of git's input is a name.
        if not path.is_relative_to(self._top) or "\n" in str(path):
            return None
        name = f"{self.revision}:{path.relative_to(self._top)}\n"
        command = ("cat-file", "--batch", "--follow-symlinks")
        done = _run_git(self._top, *command, given=os.fsencode(name))
        answer, _, content = done.stdout.partition(b"\n")
        # OBJECT blob SIZE; for example OBJECT missing, or symlink SIZE for a link to outside.
        words = answer.split()
        if done.returncode or len(words) != _BLOB_WORDS or words[1] != b"blob":
            return None
        return content[: int(words[2])]


_BLOB_WORDS = 3


def _real_path(path: Path) -> Path:
    """Return a path whose folder has no links. The file may be one, at some revisions."""
    return path.parent.resolve() / path.name


def _find_top(folder: Path, where: str) -> Path:
    """Return the folder of the repository that a folder lies in."""
    done = _run_git(folder, "rev-parse", "--show-toplevel")
    if done.returncode:
        raise DeclarationError(
            f"{where}: {folder} lies in no repository of git, so that it has no revisions"
        )
    return Path(os.fsdecode(done.stdout.rstrip(b"\n")))


def _run_git(folder: Path, *command: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder; raise MachineError if git is missing."""
    try:
        return subprocess.run(
            ("git", "-C", str(folder), *command), input=given, capture_output=True, check=False
        )
    except OSError as error:
        raise MachineError(f"git cannot be run: {error}") from error


def find_versioned_file(path: Path, installed: Path) -> Path:
    """Return the file at `path`, or for an `installed` one the same file in the checkout.

    Raises MetalBenchError if the installed file is outside of a repository, and the current folder
    outside of a checkout.
    """
    if not path.is_relative_to(installed) or _is_tracked(path):
        return path
    top = _query_git(Path.cwd(), "rev-parse", "--show-toplevel")
    if top is not None:
        found = Path(top.decode().strip(), "kernels", path.relative_to(installed))
        if found.is_file():
            return found
    raise DeclarationError(
        f"{path} is the installed copy, which lies in no repository of git; to compare revisions "
        "run it within a checkout of MetalBench, or name the folder with --kernels"
    )


def _is_tracked(path: Path) -> bool:
    return _query_git(path.resolve().parent, "ls-files", "--error-unmatch", path.name) is not None


def _query_git(folder: Path, *command: str) -> bytes | None:
    """Return git's output; None if git fails or is missing."""
    try:
        done = _run_git(folder, *command)
    except MachineError:
        return None
    return None if done.returncode else done.stdout
