"""Parse the directives of a kernel header, such as `// dispatch: ...`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from metalbench.errors import DeclarationError
from metalbench.kernel.device_defaults import DeviceDefaults, find_fault, read_defaults
from metalbench.kernel.keywords import find_misspelt_keyword
from metalbench.task.dtypes import DTYPES, FLOATS, DType, storage_type
from metalbench.task.expression import Expression, Parser

_DIRECTIVE = re.compile(r"\s*//\s*(\w+):(.*)")
_FORMS = {
    "dispatch": "`// dispatch: kernel threadgroups=(...) threads=(...)`",
    "scratch": "`// scratch: name float32 (rows, 32)`",
    "tune": "`// tune: NAME = 128, 256`",
    "instance": "`// instance: q4_g64 BITS = 4, GROUP = 64`",
    "defaults": "`// defaults: cuda NAME = 256`",
    "dtypes": "`// dtypes: float32, float16`",
    "math": "`// math: fast`",
}
# The most that a header may have of each kind: kernels of the library have at most eight.
MOST_LINES = {"dispatch": 1024, "scratch": 64, "tune": 64, "instance": 256, "defaults": 256}
MATH_MODES = ("safe", "fast")


@dataclass(frozen=True)
class Dispatch:
    """One `// dispatch:` line. Exactly one of `threadgroups` and `threads_in_grid` is set."""

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
        """Return the element type when the run's is `run`."""
        return run if self.dtype == "DTYPE" else storage_type(self.dtype)


class Header:
    """Collects the lines of one header."""

    def __init__(self, name: str, file: str) -> None:
        self._name = name
        self._file = file
        self._line = 0
        self._counts: Counter[str] = Counter()
        self.prose: list[str] = []
        self.dispatches: list[Dispatch] = []
        self.scratches: list[Scratch] = []
        self.tunables: dict[str, tuple[int, ...]] = {}
        self.defaults: list[DeviceDefaults] = []
        self.instances: dict[str, dict[str, int]] = {}
        self.dtypes: tuple[str, ...] = ()
        self.math = ""

    @property
    def line(self) -> int:
        """The line that is being read, or was read last."""
        return self._line

    def read(self, source: str) -> None:
        """Read the directives of a kernel; raise DeclarationError with the line."""
        inside = True
        for self._line, text in enumerate(source.splitlines(), 1):
            inside = inside and (not text.strip() or text.lstrip().startswith("//"))
            match = _DIRECTIVE.match(text)
            if match and match[1] in _FORMS:
                if not inside:
                    raise self._error(f"`// {match[1]}:` must stand above the first line of code")
                self._directive(match[1], match[2], match.start(2))
            elif inside and match:
                self._reject_misspelt(match[1], match[2])
            if inside and not (match and match[1] in _FORMS) and text.strip(" /"):
                self.prose.append(text.strip(" /"))
        if not self.dispatches:
            self._line = 1
            raise self._error(f"no dispatch line; add {_FORMS['dispatch']} to the header")
        fault = find_fault(self.defaults, self.tunables, self.dtypes or ("float32",))
        if fault:
            self._line, message = fault
            raise self._error(message)

    def _error(self, message: str) -> DeclarationError:
        return DeclarationError(f"[{self._name}] {self._file}:{self._line}: {message}")

    def _reject_misspelt(self, word: str, rest: str) -> None:
        keyword = find_misspelt_keyword(word, rest, _FORMS)
        if keyword:
            raise self._error(f"unknown header line `// {word}:`; did you mean {keyword!r}?")

    def _directive(self, keyword: str, text: str, column: int) -> None:
        self._counts[keyword] += 1
        most = MOST_LINES.get(keyword, self._counts[keyword])
        if self._counts[keyword] > most:
            raise self._error(f"expected at most {most} lines `// {keyword}:` in a header")
        try:
            parser = Parser(text, f"{self._file}:{self._line}", column)
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
                shared = parser.read_named_expressions()
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
        of_instances = next(iter(self.instances.values()), {})
        if name in self.tunables or name in of_instances or name == "DTYPE":
            raise self._error(f"{name} is defined already")
        parser.expect("=")
        values = [parser.number()]
        while parser.accept(","):
            values.append(parser.number())
        self.tunables[name] = tuple(values)

    def _read_instance(self, parser: Parser) -> None:
        name = parser.name("the name of an instance")
        if name in self.instances:
            raise self._error(f"instance {name!r} is declared twice")
        values: dict[str, int] = {}
        while not values or parser.accept(","):
            macro = parser.name("the name of a macro")
            if macro in values or macro in self.tunables or macro == "DTYPE":
                raise self._error(f"{macro} is defined already")
            parser.expect("=")
            values[macro] = parser.number()
        expected = next(iter(self.instances.values()), values)
        if values.keys() != expected.keys():
            raise self._error(
                f"instance {name}: expected the macros {', '.join(expected)}, as the first "
                f"instance has, got {', '.join(values)}"
            )
        self.instances[name] = values

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
