"""Parse the header lines of a `.metal` file: dispatches, scratch memory, tunables, limits.

Any comment may begin with a word and a colon: `// Shape: 64 by 4`. A header line begins with an
exact keyword. A word that resembles a keyword is an error only if the text after it has the syntax
of this keyword, so that prose is accepted.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

from metalbench import _core
from metalbench.devices import KINDS, find_kind
from metalbench.errors import CompileError, DeclarationError, suggestion
from metalbench.expression import Expression, Parser
from metalbench.kernel.source_files import include_folders, read_candidate_text
from metalbench.msl.frontend.standards import STANDARDS, TENSORS_SINCE
from metalbench.task.dtypes import DTYPES, FLOATS, DType, storage_type

_ELEMENT = r"(?:float32|float16|bfloat16|u?int(?:8|16|32|64)|bool|DTYPE)"
_ARRAY = r"\s*\w+\s+\w+\s*\(.*\)"
_SYNTAX = {
    "dispatch": r"\s*\w+\s*(?:\(.*\))?\s+"
    r"(?:threadgroups|threads_in_grid|threads|threadgroup_bytes)\s*=",
    "scratch": _ARRAY,
    "buffer": rf"{_ARRAY}\s*[a-z]\w*",
    "texture": rf"{_ARRAY}\s*[a-z]\w*",
    "sampler": r"\s*\w+\s+\w+::\w+",
    "value": r"\s*[A-Za-z_]\w*\s*=\s*\S+\s*$",
    "tensor": rf"{_ARRAY}\s*[a-z]\w*",
    "struct": r"\s*\w+\s*(?:\(.*\)\s*)?[a-z]+\d+(?:x[234])?\s+\w+",
    "tune": r"\s*\w+\s*=\s*[-\d]",
    "instance": r"\s*\w+\s+\w+\s*=\s*[-\d]",
    "defaults": r"\s*\w+\s+(?:\w+\s+)?\w+\s*=\s*[-\d]",
    "let": r"\s*[A-Za-z_]\w*\s*=\s*[\w(]",
    "limits": r"\s*\w[\w\s+*/%(),-]*(?:<=|==)\s*[\w(]",
    "dtypes": rf"\s*{_ELEMENT}(?:\s*,\s*{_ELEMENT})*\s*$",
    "math": r"\s*(?:safe|fast)\s*$",
    "inout": r"\s*\w+(?:\s*,\s*\w+)*\s*$",
    "std": r"\s*metal\d\.\d\s*$",
    "preferred": rf"\s*\w+(?:\s+{_ELEMENT})*\s*$",
}
# Words of prose that resemble a keyword: `// Input: x`.
_PROSE = frozenset({"input", "inputs"})
_PATTERNS = {keyword: re.compile(syntax) for keyword, syntax in _SYNTAX.items()}


def find_misspelt_keyword(word: str, rest: str, keywords: Iterable[str]) -> str | None:
    """Return the keyword that `word` of the comment `// word:rest` misspells, if any.

    A misspelling has a Damerau-Levenshtein distance of 1, or 2 for keywords of six letters or more.
    """
    word = word.lower()
    if word in _PROSE:
        return None
    distances = {keyword: _distance(word, keyword) for keyword in keywords}
    near = [
        keyword
        for keyword, distance in sorted(distances.items(), key=lambda each: each[1])
        if distance <= (2 if len(keyword) > 5 else 1) and _PATTERNS[keyword].match(rest)
    ]
    return near[0] if near else None


def _distance(first: str, second: str) -> int:
    """Return the Damerau-Levenshtein distance (optimal string alignment) of two words."""
    before, last = list[int](), list(range(len(second) + 1))
    for i, one in enumerate(first, 1):
        row = [i]
        for j, other in enumerate(second, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (one != other))
            if i > 1 and j > 1 and one == second[j - 2] and first[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


# Defaults of tunables for some devices: the `// defaults:` lines of kernel headers.


class TargetDevice(Protocol):
    """Facts of a device that select defaults."""

    @property
    def kind(self) -> str:
        """`cpu`, `metal` or `cuda`."""

    @property
    def chip(self) -> str | None:
        """Such as `m4_max` or `h100`; None where kernels have no variants for it."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Further properties by name."""


@dataclass(frozen=True)
class DeviceDefaults:
    """One `// defaults:` line: values of tunables on devices of a kind, chip or chip family.

    Without `dtypes` it holds for all element types.
    """

    device: str
    values: Mapping[str, int]
    line: int
    dtypes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.device, *self.dtypes))


def device_names(device: TargetDevice) -> tuple[str, ...]:
    """Return the names of a device in headers, the most specific first: m4_max, m4, metal."""
    chip = device.chip or ""
    return tuple(
        dict.fromkeys(each for each in (chip, chip.partition("_")[0], device.kind) if each)
    )


# Kernels with tensors: `NAME.metal4.metal` is the variant of `NAME.metal`.

TENSOR_VARIANT = "metal4"


@dataclass(frozen=True)
class PreferredDevice:
    """One `// preferred:` line: devices on which a variant is chosen without `--std`.

    Without `dtypes` it holds for all element types of the variant.
    """

    device: str
    dtypes: tuple[str, ...]
    line: int


def has_tensors(device: TargetDevice) -> bool:
    """Return whether the device's compiler has Metal 4's tensors."""
    if not find_kind(device.kind).reports_tensors:
        return True
    return bool(device.capabilities.get("tensors"))


def is_preferred(variant: Kernel, device: TargetDevice, dtype: str | None) -> bool:
    """Return whether `variant` is the kernel of its task on this device, without `--std`.

    Without `dtype`, whether it is for every element type.
    """
    names = device_names(device)
    return has_tensors(device) and any(
        each.device in names and (not each.dtypes or dtype in each.dtypes)
        for each in variant.preferred
    )


def _read_device(parser: Parser) -> str:
    """Read a kind of device or a chip; raise DeclarationError for another name."""
    device = parser.peek()
    # A chip has a number in its name; without one it is a kind of device that is misspelt.
    is_chip = device not in FLOATS and any(each.isdigit() for each in device)
    if device not in KINDS and not is_chip:
        kinds = sorted(KINDS)
        raise parser.error(f"{', '.join(kinds)} or a chip, such as m4_max or h100", kinds)
    return parser.name("the name of a device")


def read_defaults(parser: Parser, line: int) -> DeviceDefaults:
    """Read `cuda TG = 128, QUADS = 1` or `cuda float16 TG = 64`; raises DeclarationError."""
    device = _read_device(parser)
    dtypes: list[str] = []
    values: dict[str, int] = {}
    while not values or parser.accept(","):
        error = parser.error("a tunable that the line does not have yet")
        while not values and (parser.peek() in FLOATS or parser.peek(1).isidentifier()):
            if parser.peek() not in FLOATS:
                raise parser.error("an element type, or a tunable and '='", FLOATS)
            dtypes.append(parser.name())
            error = parser.error("the name of a tunable")
        name = parser.name("the name of a tunable")
        if name in values or name in FLOATS:
            raise error
        parser.expect("=")
        values[name] = parser.number()
    return DeviceDefaults(device, values, line, tuple(dict.fromkeys(dtypes)))


def find_fault(
    lines: Sequence[DeviceDefaults],
    tunables: Mapping[str, tuple[int, ...]],
    dtypes: Sequence[str],
) -> tuple[int, str] | None:
    """Return the first line that contradicts the kernel or another line, and why; else None."""
    seen: set[tuple[str, str]] = set()
    for each in lines:
        for dtype in each.dtypes or ("",):
            if (each.device, dtype) in seen:
                of = f" in {dtype}" if dtype else ""
                return each.line, f"the defaults on {each.device}{of} are declared twice"
            seen.add((each.device, dtype))
            if dtype and dtype not in dtypes:
                return each.line, (
                    f"expected an element type that the kernel is written for, "
                    f"{', '.join(dtypes)}; got {dtype}"
                )
        for name, value in each.values.items():
            if name not in tunables:
                return each.line, f"unknown tunable {name!r}; {suggestion(name, tunables)}"
            if value not in tunables[name]:
                offered = ", ".join(map(str, tunables[name]))
                return each.line, (
                    f"expected one of the values of `// tune: {name}`, {offered}; got {value}"
                )
    return None


def lines_for(
    lines: Sequence[DeviceDefaults], names: Sequence[str], dtype: str | None = None
) -> Iterator[DeviceDefaults]:
    """Yield the lines for a device, whose `names` begin with what counts most; the last counts.

    Lines for `dtype` come after lines for all element types of the same name.
    """
    for device in reversed(names):
        here = [line for line in lines if line.device == device]
        yield from (line for line in here if not line.dtypes)
        yield from (line for line in here if dtype in line.dtypes)


def choose_defaults(
    lines: Sequence[DeviceDefaults], names: Sequence[str], dtype: str | None = None
) -> dict[str, int]:
    """Return the default of each tunable that `lines_for` a device set."""
    chosen: dict[str, int] = {}
    for line in lines_for(lines, names, dtype):
        chosen.update(line.values)
    return chosen


def put_defaults_first(
    tunables: Mapping[str, tuple[int, ...]],
    lines: Sequence[DeviceDefaults],
    names: Sequence[str],
) -> dict[str, tuple[int, ...]]:
    """Return the tunables with the defaults of a device first; of its `names` the first counts."""
    chosen = choose_defaults(lines, names)
    return {
        name: (chosen[name], *(each for each in values if each != chosen[name]))
        if name in chosen
        else tuple(values)
        for name, values in tunables.items()
    }


# Parse the directives of a kernel header, such as `// dispatch: ...`.

_DIRECTIVE = re.compile(r"\s*//\s*(\w+):(.*)")
LINE_FORMS = {
    "dispatch": "`// dispatch: kernel threadgroups=(...) threads=(...)`",
    "scratch": "`// scratch: name float32 (rows, 32)`",
    "tune": "`// tune: NAME = 128, 256`",
    "instance": "`// instance: q4_g64 BITS = 4, GROUP = 64`",
    "defaults": "`// defaults: cuda NAME = 256`",
    "let": "`// let: half = ceil_div(cols, 2)`",
    "limits": "`// limits: cols <= 8192, cols % 32 == 0`",
    "dtypes": "`// dtypes: float32, float16`",
    "math": "`// math: fast`",
    "inout": "`// inout: cache`",
    "std": "`// std: metal4.0`",
    "preferred": "`// preferred: m5 float16`",
}
# The most that a header may have of each kind. Deep networks have hundreds of dispatches, others of
# the library have at most eight lines of a kind.
MOST_LINES = {
    "dispatch": 1024,
    "scratch": 256,
    "let": 1024,
    "tune": 64,
    "instance": 256,
    "defaults": 256,
    "limits": 64,
}
MATH_MODES = ("safe", "fast")


@dataclass(frozen=True)
class Dispatch:
    """One `// dispatch:` line. Exactly one of `threadgroups` and `threads_in_grid` is set.

    `arguments` are the arguments of the function that the line binds: to an array or a number of
    another name, or to an expression. Other arguments bind by their own names.
    """

    function: str
    threads: tuple[Expression, ...]
    threadgroups: tuple[Expression, ...] | None
    threads_in_grid: tuple[Expression, ...] | None
    threadgroup_bytes: Mapping[str, Expression]
    line: int
    arguments: Mapping[str, Expression] = field(default_factory=dict)

    def find_source(self, argument: str) -> str:
        """Return the name that an argument binds to; empty for one bound to another expression."""
        bound = self.arguments.get(argument)
        if bound is None:
            return argument
        return "" if bound.root.operands else bound.root.name


@dataclass(frozen=True)
class NamedSize:
    """One `// let:` line: a name for an expression of sizes, tunables and earlier named sizes."""

    name: str
    value: Expression
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


@dataclass(frozen=True)
class TensorView:
    """One `// tensor:` line: the view that a kernel gets of an array, with the sizes of NumPy.

    `shape` and `strides` count elements and begin with the outermost dimension. `element` is the
    type in MSL of elements of four bits; empty for others, which have the type of the array.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    line: int
    element: str = ""

    @property
    def elements(self) -> int:
        """Elements from the first one of the view to its last one."""
        return 1 + sum((n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True))


@dataclass(frozen=True)
class Limit:
    """One condition of a `// limits:` line, for sizes and tunables. `relation` is <= or ==."""

    left: Expression
    relation: str
    right: Expression
    line: int

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    def find_violation(self, values: Mapping[str, int]) -> str:
        """Return what was expected and what `values` are; empty if the condition holds.

        Raise DeclarationError as `Expression.evaluate`.
        """
        left, right = self.left.evaluate(values), self.right.evaluate(values)
        if left == right or (self.relation == "<=" and left < right):
            return ""
        names = sorted(self.left.names | self.right.names)
        used = ", ".join(f"{name} = {values[name]}" for name in names)
        got = f"{left} ({used})" if self.left.root.operands else used
        return f"expected {self}, got {got}"


def has_directives(source: str) -> bool:
    """Return whether a comment above the code begins with the keyword of a header line."""
    for text in source.splitlines():
        if text.strip() and not text.lstrip().startswith("//"):
            return False
        match = _DIRECTIVE.match(text)
        if match and match[1] in LINE_FORMS:
            return True
    return False


_KERNEL = re.compile(r"\bkernel\b[^(){};]*\bvoid\s+(\w+)\s*\(")


def _propose_dispatch(source: str) -> str:
    """Return a dispatch line of the source's first kernel, else the form of such lines."""
    found = _KERNEL.search(source)
    if found is None:
        return LINE_FORMS["dispatch"]
    line = f"`// dispatch: {found[1]} threads_in_grid=(n) threads=(256)` for n threads,"
    return f"{line} or {LINE_FORMS['dispatch'].replace(' kernel ', f' {found[1]} ')}"


def _expressions_of(line: Dispatch) -> Iterator[Expression]:
    """Yield all expressions of a dispatch line."""
    yield from line.threads
    yield from line.threadgroups or line.threads_in_grid or ()
    yield from line.threadgroup_bytes.values()
    yield from line.arguments.values()


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
        self.named_sizes: list[NamedSize] = []
        self.tunables: dict[str, tuple[int, ...]] = {}
        self.defaults: list[DeviceDefaults] = []
        self.limits: list[Limit] = []
        self.instances: dict[str, dict[str, int]] = {}
        self.dtypes: tuple[str, ...] = ()
        self.math = ""
        self.inouts: dict[str, int] = {}
        self.standard = ""
        self.preferred: list[PreferredDevice] = []

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
            if match and match[1] in LINE_FORMS:
                if not inside:
                    raise self._error(f"`// {match[1]}:` must stand above the first line of code")
                self._directive(match[1], match[2], match.start(2))
            elif inside and match:
                self._reject_misspelt(match[1], match[2])
            if inside and not (match and match[1] in LINE_FORMS) and text.strip(" /"):
                self.prose.append(text.strip(" /"))
        if not self.dispatches:
            self._line = 1
            raise self._error(f"no dispatch line; add {_propose_dispatch(source)} above the code")
        self._check_order()
        fault = find_fault(self.defaults, self.tunables, self.dtypes or ("float32",))
        if fault:
            self._line, message = fault
            raise self._error(message)

    def _check_order(self) -> None:
        """Raise DeclarationError if a line uses a named size that a later line declares."""
        lines = {each.name: each.line for each in self.named_sizes}
        uses: list[tuple[int, Iterable[Expression]]] = [
            *((each.line, (each.value,)) for each in self.named_sizes),
            *((each.line, each.shape) for each in self.scratches),
            *((each.line, (each.left, each.right)) for each in self.limits),
            *((each.line, _expressions_of(each)) for each in self.dispatches),
        ]
        for self._line, expressions in uses:
            for name in sorted(frozenset[str]().union(*(each.names for each in expressions))):
                if lines.get(name, 0) >= self._line:
                    raise self._error(
                        f"{name!r} is used above its line `// let: {name}`, line {lines[name]}; "
                        "move that line up"
                    )

    def _error(self, message: str) -> DeclarationError:
        return DeclarationError(f"[{self._name}] {self._file}:{self._line}: {message}")

    def _reject_misspelt(self, word: str, rest: str) -> None:
        keyword = find_misspelt_keyword(word, rest, LINE_FORMS)
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
            separator = " " if message.endswith("?") else "; "
            raise DeclarationError(
                f"[{self._name}] {message}{separator}write {LINE_FORMS[keyword]}"
            ) from None

    def _read_dispatch(self, parser: Parser) -> None:
        function = parser.name("the name of a kernel")
        arguments = self._read_bindings(parser) if parser.accept("(") else {}
        given: dict[str, tuple[Expression, ...]] = {}
        shared: dict[str, Expression] = {}
        keys = ("threadgroups", "threads_in_grid", "threads", "threadgroup_bytes")
        while not parser.at_end:
            missing = [each for each in keys if each not in given]
            error = parser.error(" or ".join(f"{each}=" for each in missing), missing)
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
                arguments,
            )
        )

    def _read_bindings(self, parser: Parser) -> dict[str, Expression]:
        """Read `argument = expression, ...)` after the opening parenthesis."""
        found: dict[str, Expression] = {}
        while not found or parser.accept(","):
            error = parser.error("an argument that the line does not bind yet")
            name = parser.name("the name of an argument")
            if name in found:
                raise error
            parser.expect("=")
            found[name] = parser.expression()
        parser.expect(")", "an operator, ',' or ')'")
        return found

    @property
    def _names(self) -> set[str]:
        """The names of scratch memory and of named sizes."""
        return {each.name for each in self.scratches} | {each.name for each in self.named_sizes}

    def _read_let(self, parser: Parser) -> None:
        error = parser.error("a name that the header does not have yet")
        name = parser.name("a name")
        macros = {*self.tunables, *next(iter(self.instances.values()), {}), "DTYPE"}
        if name in self._names or name in macros:
            raise error
        parser.expect("=")
        self.named_sizes.append(NamedSize(name, parser.expression(), self._line))

    def _read_scratch(self, parser: Parser) -> None:
        name = parser.name("a name")
        if name in self._names:
            raise self._error(f"scratch {name!r} is declared twice")
        kinds = (*DTYPES, "DTYPE")
        error = parser.error(f"one of {', '.join(kinds)}", kinds)
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

    def _read_limits(self, parser: Parser) -> None:
        first = True
        while first or parser.accept(","):
            first = False
            left = parser.expression()
            relation = "<=" if parser.accept("<=") else "=="
            if relation == "==":
                parser.expect("==", "an operator, '<=' or '=='")
            self.limits.append(Limit(left, relation, parser.expression(), self._line))

    def _read_dtypes(self, parser: Parser) -> None:
        found: list[str] = []
        while not found or parser.accept(","):
            error = parser.error(f"one of {', '.join(FLOATS)}", FLOATS)
            found.append(parser.name("an element type"))
            if found[-1] not in FLOATS:
                raise error
        self.dtypes = tuple(found)

    def _read_math(self, parser: Parser) -> None:
        if self.math:
            raise self._error("math is declared twice")
        error = parser.error(" or ".join(MATH_MODES), MATH_MODES)
        self.math = parser.name("a math mode")
        if self.math not in MATH_MODES:
            raise error

    def _read_std(self, parser: Parser) -> None:
        if self.standard:
            raise self._error("std is declared twice")
        error = parser.error(" or ".join(STANDARDS))
        language = parser.name("a version of Metal")
        parser.expect(".")
        self.standard = f"{language}.{parser.number()}"
        if self.standard not in STANDARDS:
            raise error

    def _read_preferred(self, parser: Parser) -> None:
        device, dtypes = _read_device(parser), list[str]()
        while not parser.at_end:
            error = parser.error(f"one of {', '.join(FLOATS)}", FLOATS)
            dtypes.append(parser.name("an element type"))
            if dtypes[-1] not in FLOATS:
                raise error
        self.preferred.append(PreferredDevice(device, tuple(dtypes), self._line))

    def _read_inout(self, parser: Parser) -> None:
        while True:
            error = parser.error("an input that the header does not have yet")
            name = parser.name("the name of an input")
            if name in self.inouts:
                raise error
            self.inouts[name] = self._line
            if not parser.accept(","):
                return


# Kernels: a `.metal` file that solves a task, with the directives of its header.

# The whole text of a file that refers to the kernel of another task.
_ELSEWHERE = re.compile(r"\s*//\s*kernel:\s*(\S+)(?:[ \t]+(\w+))?\s*")


@dataclass(frozen=True)
class Kernel:
    """A `.metal` file. `tunables` maps each macro to its candidate values, the default first.

    Defaults for single element types override the first value; see `resolve_tunables`.
    `#include "..."` looks in the folder of the file and in `include_dirs`. `math` "fast" lets the
    compiler reassociate, fuse and approximate; "safe", the default, is what MLX compiles custom
    kernels with. `samplers` has options in MSL's syntax, by argument. `target` names the device
    whose defaults come first in `tunables`. `instances` are sets of macros by name, for different
    tasks. The macros of the selected instance, by default the first, are tunables with one value.
    `limits` are conditions of sizes, which are checked before every launch. `named_sizes` are names
    for expressions of sizes, which other lines use.
    `standard` is the version of Metal's language, from the header's `// std:` line or from `--std`;
    empty for the device's default. `tensor_layout` is the number of the layout of cooperative
    tensors, which the tool `tensor` of a check varies.
    `inouts` are the inputs that the kernel updates in place, each with its line.
    `variant` is "metal4" for the file NAME.metal4.metal, which uses tensors; `preferred` are the
    devices on which it replaces NAME.metal. `tensors` are the arguments of a standalone kernel that
    are views of arrays.
    """

    name: str
    path: Path
    source: str
    chip: str | None
    description: str
    dispatches: tuple[Dispatch, ...]
    scratches: tuple[Scratch, ...] = ()
    named_sizes: tuple[NamedSize, ...] = ()
    limits: tuple[Limit, ...] = ()
    tunables: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ("float32",)
    math: str = MATH_MODES[0]
    include_dirs: tuple[Path, ...] = ()
    standard: str = ""
    tensor_layout: int = 0
    samplers: Mapping[str, str] = field(default_factory=dict)
    device_defaults: tuple[DeviceDefaults, ...] = ()
    target: tuple[str, ...] = ()
    instances: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    inouts: Mapping[str, int] = field(default_factory=dict)
    variant: str = ""
    preferred: tuple[PreferredDevice, ...] = ()
    tensors: Mapping[str, TensorView] = field(default_factory=dict)

    @property
    def plain_dispatch(self) -> Dispatch | None:
        """The dispatch of a kernel with one, whose arguments bind by their own names; else None."""
        if len(self.dispatches) != 1 or self.dispatches[0].arguments or self.named_sizes:
            return None
        return self.dispatches[0]

    def add_named_sizes(self, values: Mapping[str, int]) -> dict[str, int]:
        """Return `values` of sizes, constants and tunables with those of the `// let:` lines.

        Raise DeclarationError, with the line, for an expression that has no value.
        """
        found = dict(values)
        for each in self.named_sizes:
            try:
                found[each.name] = each.value.evaluate(found)
            except DeclarationError as error:
                where = f"[{self.name}] {self.path.name}:{each.line}: {each.name}"
                raise DeclarationError(f"{where}: {error}") from None
        return found

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

    def resolve_tunables(
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


def read(
    path: Path,
    name: str | None = None,
    read_text: Callable[[Path], str] = read_candidate_text,
) -> Kernel:
    """Read the kernel in `path`: NAME.metal, NAME.CHIP.metal, or NAME.metal4.metal with tensors.

    A file with the only line `// kernel: FILE [INSTANCE]` refers to the kernel of another task with
    the same argument names. `read_text` returns the text of a file. Raise DeclarationError, with
    file and line, if the kernel's header is wrong.
    """
    stem, _, suffix = path.name.removesuffix(".metal").partition(".")
    variant = suffix if suffix == TENSOR_VARIANT else ""
    name, instance = name or stem, ""
    try:
        source = read_text(path)
        elsewhere = _ELSEWHERE.fullmatch(source)
        if elsewhere:
            path, instance = Path(os.path.normpath(path.parent / elsewhere[1])), elsewhere[2] or ""
            source = read_text(path)
    except DeclarationError as error:
        raise DeclarationError(f"[{name}] {error}") from error
    chip = None if variant else suffix or None
    return parse(source, name=name, path=path, chip=chip, instance=instance, variant=variant)


# A run and a tuner read the header of one kernel several times, for each device, type and variant.
@lru_cache(maxsize=512)
def _read_header(name: str, file: str, source: str) -> Header:
    """Return the directives of a kernel, which callers must not change.

    Raise DeclarationError, with the line, for a wrong header.
    """
    header = Header(name, file)
    try:
        header.read(source)
    except (ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        if isinstance(error, DeclarationError):
            raise
        # Whatever a header says is its own fault: it must not end a run of other kernels.
        cause = f"{type(error).__name__}: {error}"
        raise DeclarationError(f"[{name}] {file}:{header.line}: {cause}") from error
    return header


def parse(
    source: str,
    *,
    name: str,
    path: Path | None = None,
    chip: str | None = None,
    instance: str = "",
    variant: str = "",
) -> Kernel:
    """Return the kernel with the text `source`, and `instance` or the first one selected.

    Raise DeclarationError, with the line, for a wrong header or an unknown instance.
    """
    path = path or Path(f"{name}.metal")
    header = _read_header(name, path.name, source)
    if instance and instance not in header.instances:
        raise DeclarationError(
            f"[{name}] {path.name}: no instance {instance!r}; "
            f"{suggestion(instance, header.instances)}"
        )
    if variant and STANDARDS.get(header.standard, 0) < TENSORS_SINCE:
        raise DeclarationError(
            f"[{name}] {path.name}: expected the line `// std: metal4.0` in a variant with tensors"
        )
    if header.preferred and not variant:
        raise DeclarationError(
            f"[{name}] {path.name}:{header.preferred[0].line}: `// preferred:` is for a variant "
            f"with tensors, in a file {name}.{TENSOR_VARIANT}.metal next to {name}.metal"
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
        named_sizes=tuple(header.named_sizes),
        limits=tuple(header.limits),
        tunables={**{macro: (value,) for macro, value in chosen.items()}, **header.tunables},
        dtypes=header.dtypes or ("float32",),
        math=header.math or MATH_MODES[0],
        device_defaults=tuple(header.defaults),
        instances=dict(header.instances),
        inouts=dict(header.inouts),
        standard=header.standard,
        variant=variant,
        preferred=tuple(header.preferred),
    )
