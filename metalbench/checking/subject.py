"""Resolve the subject of a check: a kernel of the library by name, or a file without a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from metalbench.errors import DeclarationError
from metalbench.kernel import Kernel
from metalbench.kernel.bare import is_kernel_file, read_standalone_kernel
from metalbench.kernel.library import find
from metalbench.task import Task
from metalbench.verify.flow import small_sizes


@dataclass(frozen=True)
class Subject:
    """A kernel, the task that declares its arguments, and the inputs that it may write."""

    kernel: Kernel
    task: Task
    sizes: tuple[str, ...]
    inout: frozenset[str] = frozenset()


def resolve_subject(
    named: str | Path,
    *,
    sizes: Sequence[str] = (),
    buffers: Path | None = None,
    folders: Sequence[Path] = (),
    include_dirs: Sequence[Path] = (),
) -> Subject:
    """Return the kernel with this name: NAME of a task, or FILE.metal with declaring lines.

    Without `sizes`, the small sizes of a task. Raises DeclarationError if nothing has this name.
    """
    if not is_kernel_file(str(named)):
        if buffers is not None:
            raise DeclarationError(
                f"--buffers: expected a file without a task such as {named}.metal, got {named!r}, "
                "whose task draws the inputs"
            )
        (entry,) = find([str(named)], None, folders)
        kernel = replace(entry.kernel(), include_dirs=tuple(include_dirs))
        for size in sizes:
            entry.task.check_size(size)
        return Subject(kernel, entry.task, tuple(sizes) or tuple(small_sizes(entry.task)))
    if sizes:
        raise DeclarationError(
            f"--size: expected none with {named}, whose own lines say how large all is"
        )
    bare = read_standalone_kernel(Path(named), buffers)
    kernel = replace(bare.kernel, include_dirs=tuple(include_dirs))
    return Subject(kernel, bare.task, (bare.size,), bare.inout)
