"""Map instructions to places in the source, by the debug metadata of a module."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

# The prefix of the names of the MSL headers in debug information (Toolchain.include_flags), and of
# the text around a source. The preprocessor refuses sources with such file names.
OWN = "<metalbench>"
_NODE = re.compile(r"!(\d+) = (.*)$")
_LINE = re.compile(r"\bline: (\d+)")
_SCOPE = re.compile(r"\bscope: (!\d+)")
_CALLED_AT = re.compile(r"\binlinedAt: (!\d+)")
_FILE = re.compile(r"\bfile: (!\d+)")
_NAME = re.compile(r'\bfilename: "([^"]*)"')
_DIRECTORY = re.compile(r'\bdirectory: "([^"]*)"')
_LOCATION = re.compile(
    r"(?:distinct )?!DILocation\((?:line: (\d+), )?(?:column: \d+, )?scope: (!\d+)"
    r"(?:, inlinedAt: (!\d+))?"
)
_COLUMN = re.compile(
    r"^(?P<head>!\d+ = (?:distinct )?!DILocation\(line: (?P<line>\d+), column: )(?P<column>\d+)"
    r"(?=, scope: (?P<scope>!\d+))",
    re.M,
)
_FUNCTION = re.compile(r'\bname: "([^"]*)"')
_SUBPROGRAM = re.compile(r'\bname: "[^"]*"')
_VARIABLE = re.compile(r"\bvar: (!\d+)")
_VARIABLES = ("!DILocalVariable(", "distinct !DIGlobalVariable(", "!DIGlobalVariable(")


def is_own(file: str) -> bool:
    """Return whether a file in debug information is one of the MSL headers, not the user's."""
    return file.startswith(OWN)


class DebugLocation(NamedTuple):
    """A debug location: `scope` and `inlined_at` are references, `inlined_at` may be empty."""

    line: int
    scope: str
    inlined_at: str


class SourceVariable(NamedTuple):
    """A variable of the source, with the file and line of its declaration."""

    name: str
    file: str
    line: int


class Metadata:
    """The numbered nodes among a module's lines, and those that are `added` to them."""

    def __init__(self, lines: Iterable[str]) -> None:
        found = (_NODE.match(line) for line in lines if line.startswith("!"))
        self._nodes = {f"!{each[1]}": each[2] for each in found if each}
        self._next = max((int(each[1:]) for each in self._nodes), default=-1) + 1
        units = (each for each in self._nodes.values() if "!DICompileUnit(" in each)
        self._working_folder = self._folder_of(next(units, ""))
        self._seen: dict[str, tuple[str, int]] = {}
        self._files: dict[str, tuple[str, bool]] = {}
        self._locations: dict[str, DebugLocation] = {}
        self.added: list[str] = []

    def __contains__(self, reference: str) -> bool:
        """Return whether the module has a node."""
        return reference in self._nodes

    def add(self, node: str) -> str:
        """Add a node and return the reference to it."""
        name = f"!{self._next}"
        self._next += 1
        self.added.append(f"{name} = {node}")
        return name

    def subprogram(self, like: str, name: str) -> str:
        """Describe a new function in the file of another one; return the reference."""
        return self.add(_SUBPROGRAM.sub(f'name: "{name}"', self._nodes[like], count=1))

    def file_name(self, file: str) -> str:
        """Return the name of a file's node.

        Clang cuts off what a path has in common with the working directory, and keeps that as the
        node's folder. Names that are relative in the source stay relative.
        """
        node = self._nodes.get(file, "")
        name, folder = _text(_NAME, node) or "", _text(_DIRECTORY, node) or ""
        is_cut = folder not in ("", self._working_folder) and not name.startswith("/")
        return f"{folder.rstrip('/')}/{name}" if is_cut and self._working_folder else name

    def _folder_of(self, unit: str) -> str:
        file = _text(_FILE, unit)
        return _text(_DIRECTORY, self._nodes.get(file, "")) or "" if file else ""

    def file_of(self, scope: str) -> str:
        """Return the name of the file that a function or a block is in."""
        return self.file_name(self._file_of(scope))

    def line_of(self, scope: str) -> int:
        """Return the line that a function begins in."""
        return int(_text(_LINE, self._nodes[scope]) or 0)

    def variable(self, reference: str) -> SourceVariable | None:
        """Return the source's variable that a node describes; None for another node."""
        node = self._nodes.get(reference, "")
        if node.startswith("!DIGlobalVariableExpression("):
            node = self._nodes[_reference(_VARIABLE, node)]
        if not node.startswith(_VARIABLES):
            return None
        file = self._file_of(reference) if _FILE.search(node) is None else _reference(_FILE, node)
        line = int(_text(_LINE, node) or 0)
        return SourceVariable(_text(_FUNCTION, node) or "", self.file_name(file), line)

    def is_place(self, reference: str) -> bool:
        """Return whether a node is the place of an instruction."""
        return self._nodes[reference].startswith(("!DILocation(", "distinct !DILocation("))

    def file_containing(self, place: str) -> str:
        """Return the name of the file that an instruction is written in, wherever it is inlined."""
        return self.file_of(_reference(_SCOPE, self._nodes[place]))

    def location(self, reference: str) -> DebugLocation | None:
        """Return what a debug location says; None for another node, or none."""
        if reference not in self._locations:
            found = _LOCATION.match(self._nodes.get(reference, ""))
            line, scope, inlined_at = found.groups("") if found else ("", "", "")
            self._locations[reference] = DebugLocation(int(line or 0), scope, inlined_at)
        return self._locations[reference] if self._locations[reference].scope else None

    def function_of(self, scope: str) -> tuple[str, str]:
        """Return the name of the file that a scope is in, and that of its function."""
        file = ""
        while True:
            node = self._nodes[scope]
            own = _text(_FILE, node)
            if not file and own:
                file = self.file_name(own)
            if "!DISubprogram" in node:
                return file, _text(_FUNCTION, node) or ""
            outer = _text(_SCOPE, node)
            if outer is None:
                return file, ""
            scope = outer

    def paths_of(self, scope: str) -> tuple[str, str]:
        """Return the name of a scope's file, and the path of that name in the folder of its node.

        Clang cuts off what a file's path has in common with the working directory.
        """
        node = self._nodes[self._file_of(scope)]
        name, folder = _text(_NAME, node) or "", _text(_DIRECTORY, node) or ""
        return name, f"{folder.rstrip('/')}/{name}"

    def locate_for_user(self, place: str) -> tuple[str, int]:
        """Return the user's file and line: those of the call where a header's code was inlined."""
        if place not in self._seen:
            self._seen[place] = self._find(place)
        return self._seen[place]

    def _find(self, place: str) -> tuple[str, int]:
        first: tuple[str, int] | None = None
        at: str | None = place
        while at is not None:
            node = self._nodes[at]
            file, own = self._file_of_code(_reference(_SCOPE, node))
            found = file, int(_text(_LINE, node) or 0)
            if not own:
                return found
            first = first or found
            at = _text(_CALLED_AT, node)
        assert first is not None
        return first

    def _file_of_code(self, scope: str) -> tuple[str, bool]:
        """The file that a function or a block is in, and whether it is of the MSL headers."""
        if scope not in self._files:
            file = self._file_of(scope)
            self._files[scope] = file, is_own(self.file_name(file))
        return self._files[scope]

    def _file_of(self, scope: str) -> str:
        while True:
            node = self._nodes[scope]
            file = _text(_FILE, node)
            if file is not None:
                return file
            scope = _reference(_SCOPE, node)


def map_columns(ir: str, find: Callable[[tuple[str, str], int, int], int]) -> str:
    """Return a module's text with other columns in its debug locations.

    `find` returns the column for the two paths of a file (`Metadata.paths_of`), a line and its
    column.
    """
    metadata = Metadata(ir.split("\n"))

    def move_column(found: re.Match[str]) -> str:
        paths = metadata.paths_of(found["scope"])
        return f"{found['head']}{find(paths, int(found['line']), int(found['column']))}"

    return _COLUMN.sub(move_column, ir)


class Places:
    """The places of one function's instructions: each a line in a file, whatever was inlined.

    Without a `subprogram`, nothing is known of the function, and places stay what they are.
    """

    def __init__(self, metadata: Metadata, subprogram: str) -> None:
        self._metadata = metadata
        self._subprogram = subprogram
        self._files: dict[str, str] = {}
        self._places: dict[tuple[str, int], str] = {}

    @property
    def subprogram(self) -> str:
        """The reference to the function's description; empty if there is none."""
        return self._subprogram

    @property
    def nowhere(self) -> str:
        """The place of what stands for no line."""
        return f"!DILocation(line: 0, scope: {self._subprogram})" if self._subprogram else ""

    def of(self, place: str) -> str:
        """The reference to an instruction's place, by the one that it had."""
        if not self._subprogram or place not in self._metadata:
            return place
        file, line = key = self._metadata.locate_for_user(place)
        if key not in self._places:
            scope = self._scope(file)
            self._places[key] = self._metadata.add(f"!DILocation(line: {line}, scope: {scope})")
        return self._places[key]

    def line_of(self, place: str) -> tuple[str, int] | None:
        """The file's node and the line of what `of` has given; None of what stands for no line."""
        return next((key for key, each in self._places.items() if each == place), None)

    def of_function(self, name: str) -> Places:
        """Return the places of a new function."""
        if not self._subprogram:
            return self
        return Places(self._metadata, self._metadata.subprogram(self._subprogram, name))

    def _scope(self, file: str) -> str:
        if file not in self._files:
            self._files[file] = self._metadata.add(
                f"!DILexicalBlockFile(scope: {self._subprogram}, file: {file}, discriminator: 0)"
            )
        return self._files[file]


def _text(pattern: re.Pattern[str], node: str) -> str | None:
    found = pattern.search(node)
    return found[1] if found else None


def _reference(pattern: re.Pattern[str], node: str) -> str:
    found = pattern.search(node)
    assert found is not None
    return found[1]
