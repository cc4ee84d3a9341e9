"""A whole module of LLVM IR, which a pass reads, changes and prints.

    module = Module(text)
    for function in module.functions.values():
        ...
    text = str(module)

What no pass asks for is never read. What does not change is printed as it was read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from metalbench.msl.ir.model import LINKAGES, Function, rename_globals
from metalbench.msl.ir.places import Metadata, is_own
from metalbench.msl.ir.read import layout_of, lazy_function
from metalbench.msl.ir.text import IrError, split
from metalbench.msl.ir.types import Layout, Type, take_type

_NAME = r'@(?:"[^"]*"|[\w.$-]+)'
_GLOBAL_LINE = re.compile(r"^@.*$", re.M)
_GLOBAL = re.compile(rf"({_NAME}) = ")
_DECLARATION = re.compile(rf"declare [^@]*({_NAME})\(")
_ATTRIBUTES = re.compile(r"attributes (#\d+) = \{ (.*) \}$")
_STRING_ATTRIBUTE = re.compile(r'"([^"]*)"="([^"]*)"')
_TARGET = re.compile(r"^target (datalayout|triple) = .*\n", re.M)
# A name; the other alternative is a string.
_MENTIONED = re.compile(rf'({_NAME})|"[^"]*"')
# Variables that mean something to LLVM, such as the lists of what an object must keep.
LLVM_NAMES = "@llvm."
_KINDS = frozenset({"global", "constant", "alias", "ifunc"})


@dataclass(frozen=True)
class Global:
    """A variable, a constant, an alias or an ifunc. `text` is its line, `name` begins with `@`."""

    name: str
    text: str

    def __str__(self) -> str:
        return self.text

    @cached_property
    def _parts(self) -> tuple[list[str], str, str, list[str]]:
        """The words before the kind, the kind, the type with the initializer, and the rest."""
        words = self.text[len(self.name) + len(" = ") :].split(" ")
        at = next((at for at, word in enumerate(words) if word in _KINDS), None)
        if at is None:
            raise IrError(f"no variable: {self.text!r}")
        first, *rest = split(" ".join(words[at + 1 :]))
        return words[:at], words[at], first, rest

    @property
    def words(self) -> list[str]:
        """Return its linkage, address space and so on. Raises IrError."""
        return self._parts[0]

    @property
    def linkage(self) -> str:
        """Return its linkage, such as `internal`; empty for one that is visible outside."""
        return next((each for each in self.words[:1] if each in LINKAGES), "")

    @property
    def kind(self) -> str:
        """Return `global`, `constant`, `alias` or `ifunc`. Raises IrError."""
        return self._parts[1]

    @property
    def type(self) -> Type:
        """Return the type of its value. Raises IrError."""
        return take_type(self._parts[2])[0]

    @property
    def initializer(self) -> str:
        """Return its initial value; empty for one that is defined elsewhere. Raises IrError."""
        return take_type(self._parts[2])[1]

    @property
    def alignment(self) -> int:
        """Return its alignment in bytes, or 0. Raises IrError."""
        return int(self._clause("align ") or 0)

    @property
    def section(self) -> str:
        """Return the name of its section, or "". Raises IrError."""
        return self._clause("section ").strip('"')

    @property
    def description(self) -> str:
        """Return the reference to its description in the debug information, or ""."""
        return self._clause("!dbg ")

    @property
    def globals(self) -> list[str]:
        """Return the names of globals and functions in its initializer, each with `@`."""
        return [each for each in _MENTIONED.findall(self.text, len(self.name)) if each]

    def with_initializer(self, type_: Type, initializer: str) -> Global:
        """Return the variable with another initial value, of another type. Raises IrError."""
        words, kind, _, rest = self._parts
        value = ", ".join([f"{type_} {initializer}", *rest])
        return Global(self.name, f"{self.name} = {' '.join([*words, kind])} {value}")

    def _clause(self, word: str) -> str:
        return next((each[len(word) :] for each in self._parts[3] if each.startswith(word)), "")


class Module:
    """Functions, variables, declarations, named types, groups of attributes and metadata."""

    def __init__(self, text: str) -> None:
        self._pieces: list[str | Function] = []
        self.functions: dict[str, Function] = {}
        first = _next_definition(text, 0)
        self.layout: Layout = layout_of(text[:first] if first >= 0 else text)
        self._split(text, first)
        self._added: list[str] = []

    def _split(self, text: str, start: int) -> None:
        at = 0
        while start >= 0:
            end = text.index("\n}", start) + len("\n}")
            function = lazy_function(text[start:end], self.layout)
            self._pieces += [text[at:start], function]
            self.functions[function.name] = function
            at, start = end, _next_definition(text, end)
        self._pieces.append(text[at:])

    def __str__(self) -> str:
        """Return the module's text."""
        return "".join(map(str, (*self._pieces, self._end)))

    @property
    def _end(self) -> str:
        """The lines that were added, behind a line's end."""
        added = [*self._added, *(self.metadata.added if "metadata" in self.__dict__ else ())]
        last = self._pieces[-1]
        lines = "".join(f"{each}\n" for each in added)
        return lines if not added or str(last).endswith("\n") else f"\n{lines}"

    def function(self, name: str) -> Function:
        """Return the definition of a function, by its name without `@`. Raises IrError."""
        if name not in self.functions:
            raise IrError(f"the module does not define {name}")
        return self.functions[name]

    @cached_property
    def metadata(self) -> Metadata:
        """Return the numbered nodes. Those that are added are printed at the end."""
        last = self._pieces[-1]
        return Metadata(last.split("\n") if isinstance(last, str) else ())

    def users_functions(self) -> Iterator[Function]:
        """Yield the functions of the user's source, as the debug information has them."""
        for function in self.functions.values():
            if self.is_users(function.subprogram):
                yield function

    def is_users(self, subprogram: str) -> bool:
        """Return whether a function's description is of a file that is not the MSL headers'."""
        return subprogram in self.metadata and not is_own(self.metadata.file_of(subprogram))

    def replace_function(self, name: str, by: str) -> None:
        """Replace the definition of a function by the text of others. Raises IrError without it."""
        self._pieces[self._pieces.index(self.function(name))] = by
        del self.functions[name]

    def rename_globals(self, names: Mapping[str, str]) -> None:
        """Replace names of variables and functions by others, all of them with `@`.

        Raises IrError for a name that the module does not have.
        """
        for name in names:
            whole = re.compile(rf"{re.escape(name)}(?![-\w.$])")
            if not any(whole.search(str(each)) for each in (*self._pieces, *self._added)):
                raise IrError(f"the module has no {name}")
        for at, piece in enumerate(self._pieces):
            if isinstance(piece, Function):
                piece.rename_globals(names)
            else:
                self._pieces[at] = rename_globals(piece, names)
        self._added = [rename_globals(each, names) for each in self._added]
        self.functions = {each.name: each for each in self.functions.values()}

    def select(self, names: Collection[str]) -> Module:
        """Return a module without other functions and variables than `names`, each with `@`.

        Variables that mean something to LLVM stay.
        """

        def select_line(found: re.Match[str]) -> str:
            name = _name_in(_GLOBAL, found[0])
            return found[0] if name in names or name.startswith(LLVM_NAMES) else ""

        texts = [
            _GLOBAL_LINE.sub(select_line, each) if isinstance(each, str) else str(each)
            for each in (*self._pieces, self._end)
            if isinstance(each, str) or f"@{each.name}" in names
        ]
        return Module("".join(texts))

    @property
    def globals(self) -> Mapping[str, Global]:
        """Return variables, constants and aliases by their names with `@`. Raises IrError."""
        lines = (line for piece in self._texts() for line in _lines_with("@", piece))
        return {name: Global(name, line) for line in lines for name in [_name_in(_GLOBAL, line)]}

    @property
    def declarations(self) -> Mapping[str, str]:
        """Return the lines of functions that are defined elsewhere, by their names with `@`.

        Raises IrError.
        """
        lines = (line for piece in self._texts() for line in _lines_with("declare ", piece))
        return {_name_in(_DECLARATION, line): line for line in lines}

    @property
    def has_assembly(self) -> bool:
        """Return whether there is inline assembly outside of functions."""
        return any(True for piece in self._texts() for _ in _lines_with("module asm ", piece))

    @property
    def attribute_groups(self) -> Mapping[str, str]:
        """Return the attributes of each group, by its name such as `#3`."""
        lines = (line for piece in self._texts() for line in _lines_with("attributes ", piece))
        return {found[1]: found[2] for line in lines if (found := _ATTRIBUTES.match(line))}

    def find_target_features(self, function: Function) -> frozenset[str]:
        """Return the features of the processor that a function is for, such as `+avx2`."""
        groups = self.attribute_groups
        attributes = " ".join(groups.get(each, "") for each in function.attribute_groups)
        features = dict(_STRING_ATTRIBUTE.findall(attributes)).get("target-features", "")
        return frozenset(features.split(",")) - {""}

    def declares(self, name: str) -> bool:
        """Return whether the module declares or defines a function, by its name without `@`."""
        return name in self.functions or f"@{name}" in self.declarations

    def mentions(self, word: str) -> bool:
        """Return whether a text is anywhere in the module."""
        return any(word in each for each in self._texts()) or any(
            each.mentions(word) for each in self.functions.values()
        )

    def add(self, line: str) -> None:
        """Add a variable, a declaration or a group of attributes at the end."""
        self._added.append(line)

    def add_string(self, name: str, text: str) -> None:
        """Add a constant with a text as C has it, by its name, which begins with `@`."""
        text = text.replace("\\", "/").replace('"', "'")
        size = len(text.encode()) + 1
        self.add(f'{name} = private unnamed_addr constant [{size} x i8] c"{text}\\00"')

    def add_attribute_group(self, attributes: str) -> str:
        """Add a group of attributes and return its name."""
        name = f"#{max((int(each[1:]) for each in self.attribute_groups), default=-1) + 1}"
        self.add(f"attributes {name} = {{ {attributes} }}")
        return name

    def set_attribute_group(self, name: str, attributes: str) -> None:
        """Change a group of attributes. Raises IrError without it."""
        line = f"attributes {name} = {{ {self.attribute_groups.get(name)} }}"
        self.replace_line(line, f"attributes {name} = {{ {attributes} }}")

    def replace_line(self, line: str, by: str) -> None:
        """Replace the line of a variable, a declaration or a group. Raises IrError without it."""
        for at, piece in enumerate(self._pieces):
            if isinstance(piece, str) and f"\n{line}\n" in f"\n{piece}":
                replaced = f"\n{piece}".replace(f"\n{line}\n", f"\n{by}\n" if by else "\n", 1)
                self._pieces[at] = replaced[1:]
                return
        if line not in self._added:
            raise IrError(f"the module has no line {line!r}")
        at = self._added.index(line)
        self._added[at : at + 1] = [by] if by else []

    def remove_line(self, line: str) -> None:
        """Remove the line of a variable, a declaration or a group. Raises IrError without it."""
        self.replace_line(line, "")

    def remove_target(self) -> None:
        """Remove the lines of the target and of its data layout."""
        self._pieces = [
            _TARGET.sub("", each) if isinstance(each, str) else each for each in self._pieces
        ]

    def _texts(self) -> Iterator[str]:
        yield from (each for each in self._pieces if isinstance(each, str))
        yield from self._added


def _lines_with(beginning: str, text: str) -> Iterator[str]:
    """Yield the lines that begin so. A pattern with `^` is slow: metadata has many lines."""
    text, mark = f"\n{text}", f"\n{beginning}"
    at = text.find(mark)
    while at >= 0:
        end = text.find("\n", at + 1)
        yield text[at + 1 : end if end >= 0 else len(text)]
        at = text.find(mark, at + 1)


def _name_in(pattern: re.Pattern[str], line: str) -> str:
    found = pattern.match(line)
    if found is None:
        raise IrError(f"no name: {line!r}")
    return found[1]


def _next_definition(text: str, at: int) -> int:
    """Return where the next definition begins, or -1."""
    if at == 0 and text.startswith("define "):
        return 0
    found = text.find("\ndefine ", at)
    return found + 1 if found >= 0 else -1
