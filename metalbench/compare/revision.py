"""Read a kernel's file at a revision of its git repository."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

from metalbench.errors import DeclarationError, MachineError
from metalbench.kernel.header import Kernel, parse


def read_kernel_at(kernel: Kernel, revision: str) -> Kernel:
    """Return `kernel` with its file at git's `revision`, and its included headers as they are now.

    Raises
    ------
    DeclarationError
        If the file is outside of a repository, `revision` is unknown or lacks the file, or its
        header was wrong then.
    MachineError
        If git is missing.
    """
    where = f"[{kernel.name}] {kernel.path.name}@{revision}"
    if revision.startswith("-") or ":" in revision:
        raise DeclarationError(f"{where}: expected a revision of git, such as HEAD~1 or v1.0")
    folder = kernel.path.resolve().parent
    text = _git(folder, "show", f"{revision}:./{kernel.path.name}", where=where)
    then = parse(text, name=kernel.name, path=kernel.path, chip=kernel.chip)
    return replace(then.on(kernel.target), include_dirs=kernel.include_dirs)


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
        done = subprocess.run(
            ("git", "-C", str(folder), *command), capture_output=True, check=False
        )
    except OSError:
        return None
    return None if done.returncode else done.stdout


def _git(folder: Path, *command: str, where: str) -> str:
    try:
        done = subprocess.run(
            ("git", "-C", str(folder), *command), capture_output=True, check=False
        )
    except OSError as error:
        raise MachineError(f"{where}: git cannot be run: {error}") from error
    if done.returncode:
        if _query_git(folder, "rev-parse") is None:
            raise DeclarationError(
                f"{where}: {folder} lies in no repository of git, so that it has no revisions"
            )
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise DeclarationError(
            f"{where}: git says: {said}; `git log -- {folder.name}` in {folder.parent} lists "
            "the revisions"
        )
    return done.stdout.decode("utf-8", errors="replace")
