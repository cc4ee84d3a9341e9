"""Kernels: one `.metal` file that solves a task, and what its header says about running it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from metalbench import _core
from metalbench.errors import DeclarationError, suggestion
from metalbench.kernel.device_defaults import DeviceDefaults, fault_of, favouring, read_defaults
from metalbench.kernel.installed import include_folders
from metalbench.task.dtypes import DTYPES, FLOATS, DType, stored_as
from metalbench.task.expression import Expression, Parser

_DIRECTIVE = re.compile(r"\s*//\s*(\w+):(.*)")
# All that the file of a kernel says that another task has.
_ELSEWHERE = re.compile(r"\s*//\s*kernel:\s*(\S+)\s*")
_FORMS = {
    "dispatch": "`// dispatch: kernel threadgroups=(...) threads=(...)`",
    "scratch": "`// scratch: name float32 (rows, 32)`",
    "tune": "`// tune: NAME = 128, 256`",
    "defaults": "`// defaults: cuda NAME = 256`",
    "dtypes": "`// dtypes: float32, float16`",
    "math": "`// math: fast`",
}
MATH_MODES = ("safe", "fast")


@dataclass(frozen=True)
class Dispatch:
    """One `// dispatch:` line. Exactly one of `threadgroups` and `threads_in_grid` is given."""

    function: str
    threads: tuple[Expression, ...]
    threadgroups: tuple[Expression, ...] | None
    threads_in_grid: tuple[Expression, ...] | None
    threadgroup_bytes: Mapping[str, Expression]
    line: int


@dataclass(frozen=True)
class Scratch:
    """One `// scratch:` line: memory shared by the dispatches of a run.

    `dtype` "DTYPE" is the element type of the run. Texels of a texture have a `pixel_format`.
    """

    name: str
    dtype: str
    shape: tuple[Expression, ...]
    line: int
    pixel_format: str = ""

    def type_in(self, run: DType) -> DType:
        """The element type when the run's is `run`."""
        return run if self.dtype == "DTYPE" else stored_as(self.dtype)


@dataclass(frozen=True)
class Kernel:
    """A `.metal` file. `tunables` maps each macro to the values worth trying, the default first.

    Its own folder and `include_dirs` are searched for `#include "..."`. `math` is how it is
    compiled: "fast" lets the compiler reassociate, fuse and approximate; "safe", the default, is
    what MLX compiles custom kernels with. `samplers` has MSL's words, by argument.
    `target` names the device whose defaults the tunables begin with.
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

    @property
    def is_python(self) -> bool:
        """Whether it is a Python file, which launches its kernels itself."""
        return self.path.suffix == ".py"

    @cached_property
    def text(self) -> str:
        """The source with its headers in place of the `#include`s: what results are kept with."""
        if self.is_python:
            return self.source
        folders = include_folders(self.path, self.include_dirs)
        return _core.with_includes(self.source, filename=str(self.path), include_dirs=folders)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the text, in hexadecimal: of another header it is another kernel."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def on(self, target: Sequence[str]) -> Kernel:
        """The kernel, as parsed, with the defaults of a device: `device_defaults.names_of` it."""
        tunables = favouring(self.tunables, self.device_defaults, target)
        return replace(self, tunables=tunables, target=tuple(target))

    def tuned(self, chosen: Mapping[str, int] | None = None) -> dict[str, int]:
        """A value for every tunable: its default unless `chosen` has another.

        Raises DeclarationError for a name that the kernel does not declare.
        """
        chosen = chosen or {}
        for name in chosen:
            if name not in self.tunables:
                raise DeclarationError(
                    f"[{self.name}] unknown tunable {name!r}; {suggestion(name, self.tunables)}"
                )
        return {name: chosen.get(name, values[0]) for name, values in self.tunables.items()}


def read(path: Path, name: str | None = None) -> Kernel:
    """Read the kernel in `path`: NAME.metal or NAME.CHIP.metal.

    A file that says nothing but `// kernel: FILE` names the file of another task, whose arguments
    are called the same: the kernel is that one. Raises DeclarationError, with file and line, if its
    header is wrong.
    """
    stem, _, chip = path.name.removesuffix(".metal").partition(".")
    source = _text(path, name or stem)
    elsewhere = _ELSEWHERE.fullmatch(source)
    if elsewhere:
        path = Path(os.path.normpath(path.parent / elsewhere[1]))
        source = _text(path, name or stem)
    return parse(source, name=name or stem, path=path, chip=chip or None)


def _text(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DeclarationError(f"[{name}] {path} cannot be read: {error}") from error


def parse(source: str, *, name: str, path: Path | None = None, chip: str | None = None) -> Kernel:
    """The kernel with the text `source`, which need not be in a file."""
    path = path or Path(f"{name}.metal")
    header = _Header(name, path.name)
    header.read(source)
    return Kernel(
        name=name,
        path=path,
        source=source,
        chip=chip,
        description=" ".join(header.prose),
        dispatches=tuple(header.dispatches),
        scratches=tuple(header.scratches),
        tunables=header.tunables,
        dtypes=header.dtypes or ("float32",),
        math=header.math or MATH_MODES[0],
        device_defaults=tuple(header.defaults),
    )


class _Header:
    """Collects the lines of one header."""

    def __init__(self, name: str, file: str) -> None:
        self._name = name
        self._file = file
        self._line = 0
        self.prose: list[str] = []
        self.dispatches: list[Dispatch] = []
        self.scratches: list[Scratch] = []
        self.tunables: dict[str, tuple[int, ...]] = {}
        self.defaults: list[DeviceDefaults] = []
        self.dtypes: tuple[str, ...] = ()
        self.math = ""

    def read(self, source: str) -> None:
        inside = True
        for self._line, text in enumerate(source.splitlines(), 1):
            inside = inside and (not text.strip() or text.lstrip().startswith("//"))
            match = _DIRECTIVE.match(text)
            if match and match[1] in _FORMS:
                if not inside:
                    raise self._error(f"`// {match[1]}:` must stand above the first line of code")
                self._directive(match[1], match[2], match.start(2))
            elif inside and match:
                self._reject_misspelt(match[1])
            if inside and not (match and match[1] in _FORMS) and text.strip(" /"):
                self.prose.append(text.strip(" /"))
        if not self.dispatches:
            self._line = 1
            raise self._error(f"no dispatch line; add {_FORMS['dispatch']} to the header")
        fault = fault_of(self.defaults, self.tunables)
        if fault:
            self._line, message = fault
            raise self._error(message)

    def _error(self, message: str) -> DeclarationError:
        return DeclarationError(f"[{self._name}] {self._file}:{self._line}: {message}")

    def _reject_misspelt(self, word: str) -> None:
        hint = suggestion(word.lower(), _FORMS)
        if hint.startswith("did you mean"):
            raise self._error(f"unknown header line `// {word}:`; {hint}")

    def _directive(self, keyword: str, text: str, column: int) -> None:
        parser = Parser(text, f"{self._file}:{self._line}", column)
        try:
            getattr(self, f"_read_{keyword}")(parser)
            if not parser.at_end:
                raise parser.error("the end of the line")
        except DeclarationError as error:
            message = str(error).removeprefix(f"[{self._name}] ")
            raise DeclarationError(f"[{self._name}] {message}; write {_FORMS[keyword]}") from None

    def _read_dispatch(self, parser: Parser) -> None:
        function = parser.name("the name of a kernel")
        given: dict[str, tuple[Expression, ...]] = {}
        shared: dict[str, Expression] = {}
        keys = ("threadgroups", "threads_in_grid", "threads", "threadgroup_bytes")
        while not parser.at_end:
            error = parser.error(" or ".join(f"{each}=" for each in keys if each not in given))
            key = parser.name()
            if key not in keys or key in given:
                raise error
            parser.expect("=")
            if key == "threadgroup_bytes":
                shared = parser.named_expressions()
                given[key] = ()
                continue
            error = parser.error("one to three extents")
            given[key] = parser.expressions()
            if len(given[key]) > 3:
                raise error
        if ("threadgroups" in given) == ("threads_in_grid" in given):
            raise parser.error("exactly one of threadgroups= and threads_in_grid=")
        if "threads" not in given:
            raise parser.error("threads=")
        self.dispatches.append(
            Dispatch(
                function,
                given["threads"],
                given.get("threadgroups"),
                given.get("threads_in_grid"),
                shared,
                self._line,
            )
        )

    def _read_scratch(self, parser: Parser) -> None:
        name = parser.name("a name")
        if any(each.name == name for each in self.scratches):
            raise self._error(f"scratch {name!r} is declared twice")
        kinds = (*DTYPES, "DTYPE")
        error = parser.error(f"one of {', '.join(kinds)}")
        kind = parser.name("an element type")
        if kind not in kinds:
            raise error
        self.scratches.append(Scratch(name, kind, parser.expressions(), self._line))

    def _read_tune(self, parser: Parser) -> None:
        name = parser.name("the name of a macro")
        if name in self.tunables or name == "DTYPE":
            raise self._error(f"{name} is defined already")
        parser.expect("=")
        values = [parser.number()]
        while parser.accept(","):
            values.append(parser.number())
        self.tunables[name] = tuple(values)

    def _read_defaults(self, parser: Parser) -> None:
        self.defaults.append(read_defaults(parser, self._line))

    def _read_dtypes(self, parser: Parser) -> None:
        found: list[str] = []
        while not found or parser.accept(","):
            error = parser.error(f"one of {', '.join(FLOATS)}")
            found.append(parser.name("an element type"))
            if found[-1] not in FLOATS:
                raise error
        self.dtypes = tuple(found)

    def _read_math(self, parser: Parser) -> None:
        if self.math:
            raise self._error("math is declared twice")
        error = parser.error(" or ".join(MATH_MODES))
        self.math = parser.name("a math mode")
        if self.math not in MATH_MODES:
            raise error
