"""A whole module of LLVM IR, which a pass reads, changes and prints.

    module = Module(text)
    for function in module.functions.values():
        ...
    text = str(module)

What no pass asks for is never read. What does not change is printed as it was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from metalbench.msl.ir.model import Function
from metalbench.msl.ir.places import Metadata, is_own
from metalbench.msl.ir.read import layout_of, lazy_function
from metalbench.msl.ir.text import IrError, split
from metalbench.msl.ir.types import Layout, Type, take_type

_NAME = r'@(?:"[^"]*"|[\w.$-]+)'
_GLOBAL_LINE = re.compile(r"^@.*$", re.M)
_GLOBAL = re.compile(rf"({_NAME}) = ")
_DECLARATION_LINE = re.compile(r"^declare .*$", re.M)
_DECLARATION = re.compile(rf"declare [^@]*({_NAME})\(")
_ASSEMBLY = re.compile(r"^module asm ", re.M)
_ATTRIBUTES = re.compile(r"^attributes (#\d+) = \{ (.*) \}$", re.M)
_TARGET = re.compile(r"^target (datalayout|triple) = .*\n", re.M)
# A name; the other alternative is a string.
_MENTIONED = re.compile(rf'({_NAME})|"[^"]*"')
_KINDS = frozenset({"global", "constant", "alias", "ifunc"})


@dataclass(frozen=True)
class Global:
    """A variable, a constant, an alias or an ifunc. `text` is its line, `name` begins with `@`."""

    name: str
    text: str

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
    def mentions(self) -> list[str]:
        """Return the names of globals and functions in its initializer, each with `@`."""
        return [each for each in _MENTIONED.findall(self.text, len(self.name)) if each]

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
        text = "".join(map(str, self._pieces))
        added = [*self._added, *(self.metadata.added if "metadata" in self.__dict__ else ())]
        if added and not text.endswith("\n"):
            text += "\n"
        return text + "".join(f"{each}\n" for each in added)

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

    @property
    def globals(self) -> Mapping[str, Global]:
        """Return variables, constants and aliases by their names with `@`. Raises IrError."""
        lines = (line for piece in self._texts() for line in _GLOBAL_LINE.findall(piece))
        return {name: Global(name, line) for line in lines for name in [_name_in(_GLOBAL, line)]}

    @property
    def declarations(self) -> Mapping[str, str]:
        """Return the lines of functions that are defined elsewhere, by their names with `@`.

        Raises IrError.
        """
        lines = (line for piece in self._texts() for line in _DECLARATION_LINE.findall(piece))
        return {_name_in(_DECLARATION, line): line for line in lines}

    @property
    def has_assembly(self) -> bool:
        """Return whether there is inline assembly outside of functions."""
        return any(_ASSEMBLY.search(each) for each in self._texts())

    @property
    def attribute_groups(self) -> Mapping[str, str]:
        """Return the attributes of each group, by its name such as `#3`."""
        return dict(each for piece in self._texts() for each in _ATTRIBUTES.findall(piece))

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
