"""The winner as a file: a kernel as any other, which needs nothing of what found it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_steel.source import with_defaults
from metalbench.errors import DeclarationError, MachineError
from metalbench.kernel.installed import library_folder
from metalbench.plain_file import replace_file

if TYPE_CHECKING:
    from agent_steel.attempt import Attempt
    from metalbench.kernel.library import Entry
    from metalbench.result import DeviceFacts


def text_of(attempt: Attempt) -> str:
    """Return the text of an attempt, its values of tunables as the defaults."""
    return with_defaults(attempt.source, attempt.tunables, dtype=attempt.dtype)


def file_name(task: str, chip: str | None) -> str:
    """``NAME.CHIP.metal`` of a device whose chip is known, else ``NAME.metal``."""
    return f"{task}.{chip}.metal" if chip else f"{task}.metal"


def apply_attempt(
    entry: Entry, attempt: Attempt, device: DeviceFacts, folders: Sequence[Path]
) -> Path:
    """Write an attempt next to the kernel that it was derived from, and return the file.

    For a known chip it is the variant of this chip. Raise DeclarationError for an installed
    library, which must not be edited, MachineError if the file cannot be written.
    """
    folder = entry.kernel_path(device.chip).parent
    library = library_folder()
    in_library = folder.is_relative_to(library)
    if in_library and not (library.parent / "pyproject.toml").is_file():
        raise DeclarationError(
            f"[{entry.name}] {folder} is the installed library, which stays as it is; "
            f"`agent_steel export {entry.name} --out FILE` writes the winner elsewhere, and "
            "--kernels names a folder of your own"
        )
    return write_attempt(folder / file_name(entry.name, device.chip), attempt)


def write_attempt(path: Path, attempt: Attempt) -> Path:
    """Write an attempt to `path`, all of it or nothing; raises MachineError if that cannot be."""
    try:
        replace_file(path, text_of(attempt))
    except OSError as error:
        raise MachineError(
            f"{path} cannot be written: {error.strerror}; name another place with --out"
        ) from error
    return path
