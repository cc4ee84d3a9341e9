"""Kernels: a `.metal` file that solves a task, with the directives of its header."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from metalbench import _core
from metalbench.errors import CompileError, DeclarationError, suggestion
from metalbench.kernel.candidate_file import read_candidate_text
from metalbench.kernel.device_defaults import DeviceDefaults, choose_defaults, put_defaults_first
from metalbench.kernel.directives import MATH_MODES, Dispatch, Header, Scratch
from metalbench.kernel.installed import include_folders

# The whole text of a file that refers to the kernel of another task.
_ELSEWHERE = re.compile(r"\s*//\s*kernel:\s*(\S+)(?:[ \t]+(\w+))?\s*")


@dataclass(frozen=True)
class Kernel:
    """A `.metal` file. `tunables` maps each macro to its candidate values, the default first.

    Defaults for single element types override the first value; see `tuned`. `#include "..."` looks
    in the folder of the file and in `include_dirs`. `math` "fast" lets the compiler reassociate,
    fuse and approximate; "safe", the default, is what MLX compiles custom kernels with. `samplers`
    has options in MSL's syntax, by argument. `target` names the device whose defaults come first
    in `tunables`. `instances` are sets of macros by name, for different tasks. The macros of the
    selected instance, by default the first, are tunables with one value.
    """

    name: str
    path: Path
    source: str
    chip: str | None
    description: str
    dispatches: tuple[Dispatch, ...]
    scratches: tuple[Scratch, ...] = ()
    tunables: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ("float32",)
    math: str = MATH_MODES[0]
    include_dirs: tuple[Path, ...] = ()
    samplers: Mapping[str, str] = field(default_factory=dict)
    device_defaults: tuple[DeviceDefaults, ...] = ()
    target: tuple[str, ...] = ()
    instances: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def is_python(self) -> bool:
        """Whether it is a Python file, which launches its kernels itself."""
        return self.path.suffix == ".py"

    @cached_property
    def text(self) -> str:
        """The source with its headers in place of the `#include`s, as the store keeps it.

        Raise CompileError for too many or too long headers.
        """
        if self.is_python:
            return self.source
        folders = include_folders(self.path, self.include_dirs)
        try:
            return _core.with_includes(self.source, filename=str(self.path), include_dirs=folders)
        except CompileError as error:
            raise CompileError(f"[{self.name}] {error}") from None

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the stored text, in hexadecimal. A change of a header changes it."""
        return hashlib.sha256(self.stored_text.encode("utf-8", "surrogateescape")).hexdigest()

    @cached_property
    def stored_text(self) -> str:
        """The text; only the source for a kernel whose headers cannot be read."""
        try:
            return self.text
        except CompileError:
            return self.source

    def on(self, target: Sequence[str]) -> Kernel:
        """Return the kernel with the defaults of a device, whose `device_names` are `target`."""
        tunables = put_defaults_first(self.tunables, self.device_defaults, target)
        return replace(self, tunables=tunables, target=tuple(target))

    def tuned(
        self, chosen: Mapping[str, int] | None = None, *, dtype: str | None = None
    ) -> dict[str, int]:
        """Return a value for every tunable: that of `chosen`, else the default for `dtype`.

        Raise DeclarationError for a name that the kernel does not declare.
        """
        chosen = chosen or {}
        for name in chosen:
            if name not in self.tunables:
                raise DeclarationError(
                    f"[{self.name}] unknown tunable {name!r}; {suggestion(name, self.tunables)}"
                )
        typed = choose_defaults(self.device_defaults, self.target, dtype) if dtype else {}
        defaults = {name: values[0] for name, values in self.tunables.items()} | typed
        return {name: chosen.get(name, value) for name, value in defaults.items()}


def read(path: Path, name: str | None = None) -> Kernel:
    """Read the kernel in `path`: NAME.metal or NAME.CHIP.metal.

    A file with the only line `// kernel: FILE [INSTANCE]` refers to the kernel of another task with
    the same argument names. Raise DeclarationError, with file and line, if its header is wrong.
    """
    stem, _, chip = path.name.removesuffix(".metal").partition(".")
    source = _text(path, name or stem)
    elsewhere, instance = _ELSEWHERE.fullmatch(source), ""
    if elsewhere:
        path, instance = Path(os.path.normpath(path.parent / elsewhere[1])), elsewhere[2] or ""
        source = _text(path, name or stem)
    return parse(source, name=name or stem, path=path, chip=chip or None, instance=instance)


def _text(path: Path, name: str) -> str:
    try:
        return read_candidate_text(path)
    except DeclarationError as error:
        raise DeclarationError(f"[{name}] {error}") from error


def parse(
    source: str,
    *,
    name: str,
    path: Path | None = None,
    chip: str | None = None,
    instance: str = "",
) -> Kernel:
    """Return the kernel with the text `source`, and `instance` or the first one selected.

    Raise DeclarationError, with the line, for a wrong header or an unknown instance.
    """
    path = path or Path(f"{name}.metal")
    header = Header(name, path.name)
    try:
        header.read(source)
    except (ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        if isinstance(error, DeclarationError):
            raise
        # Whatever a header says is its own fault: it must not end a run of other kernels.
        cause = f"{type(error).__name__}: {error}"
        raise DeclarationError(f"[{name}] {path.name}:{header.line}: {cause}") from error
    if instance and instance not in header.instances:
        raise DeclarationError(
            f"[{name}] {path.name}: no instance {instance!r}; "
            f"{suggestion(instance, header.instances)}"
        )
    chosen = header.instances.get(instance or next(iter(header.instances), ""), {})
    return Kernel(
        name=name,
        path=path,
        source=source,
        chip=chip,
        description=" ".join(header.prose),
        dispatches=tuple(header.dispatches),
        scratches=tuple(header.scratches),
        tunables={**{macro: (value,) for macro, value in chosen.items()}, **header.tunables},
        dtypes=header.dtypes or ("float32",),
        math=header.math or MATH_MODES[0],
        device_defaults=tuple(header.defaults),
        instances=header.instances,
    )
