"""Which of Metal's functions an instruction is inlined from, and where the user calls it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from metalbench.msl.ir.places import is_own

_NODE = re.compile(r"(!\d+) = (.*)$")
_SCOPE = re.compile(r"\bscope: (!\d+)")
_CALLED_AT = re.compile(r"\binlinedAt: (!\d+)")
_FILE = re.compile(r"\bfile: (!\d+)")
_FILENAME = re.compile(r'\bfilename: "([^"]*)"')
_LINE = re.compile(r"\bline: (\d+)")
_NAME = re.compile(r'\bname: "([^"<]*)([^"]*)"')
_COMPONENTS = re.compile(r"char ?\[(\d)\]")
_DEBUG = re.compile(r"!dbg (!\d+)")
_SPECIAL = frozenset(
    ["exp", "exp2", "exp10", "log", "log2", "log10", "tanh", "sinh", "cosh", "asinh",
     "acosh", "atanh", "asin", "acos", "atan", "atan2", "pow", "powr", "sinpi", "cospi",
     "tanpi", "sin", "cos", "tan", "sincos", "sqrt", "rsqrt", "fmod"]
)  # fmt: skip
_BY_FILE = {"simd_functions.h": "simdgroup", "atomic.h": "atomic"}
_BY_NAME = {
    "threadgroup_barrier": "barrier",
    "simdgroup_barrier": "simdgroup_barrier",
    "quadgroup_barrier": "simdgroup_barrier",
    "simdgroup_multiply": "matrix_multiply",
    "simdgroup_multiply_accumulate": "matrix_multiply",
    "atomic_thread_fence": "fence",
}
# What finds out where a thread and its group's memory are: no Metal source says such a thing.
_MACHINERY = frozenset(["threadgroup_variable"])
_MACHINERY_FILES = frozenset(
    ["abi.h", "sync.h", "entry.h", "fiber_entry.h", "fiber_place.h", "place.h", "attributes.h"]
)


@dataclass(frozen=True)
class Place:
    """Of an instruction: the user's line, and the outermost function of Metal's that it is in.

    `event` is what that function counts as, empty if its own instructions count; `instance` tells
    its calls apart, `count` is how many at once, of a vector's components.
    """

    file: str
    line: int
    event: str = ""
    instance: str = ""
    count: int = 1
    is_machinery: bool = False


class Calls:
    """The places of a module's instructions."""

    def __init__(self, lines: Sequence[str]) -> None:
        found = (_NODE.match(line) for line in lines if line.startswith("!"))
        self._nodes = {each[1]: each[2] for each in found if each}
        self.place = cache(self._place)
        self._frames = cache(self._frames_of)
        self._nowhere: dict[str, str] = {}

    def is_users(self, body: Sequence[str]) -> bool:
        """Whether a function has any instruction of the user's source."""
        return any(
            found and found[1] in self._nodes and self.place(found[1]) is not None
            for found in (_DEBUG.search(line) for line in body[1:])
        )

    def nowhere(self, scope: str) -> str:
        """What the calls that are put in have for a place: a whole function."""
        return f"!DILocation(line: 0, scope: {scope})"

    def _place(self, debug: str) -> Place | None:
        """None for what no user's source is in: the launch's own code."""
        ours: tuple[str, str] | None = None
        at: str | None = debug
        while at is not None:
            node = self._nodes.get(at, "")
            scope = _SCOPE.search(node)
            if scope is None:
                return None
            file, name = self._frames(scope[1])
            if not is_own(file):
                line = _LINE.search(node)
                return self._seen(file, int(line[1]) if line else 0, ours)
            called = _CALLED_AT.search(node)
            at = called[1] if called else None
            ours = name, f"{file}\n{at}"
        return None

    def _seen(self, file: str, line: int, ours: tuple[str, str] | None) -> Place:
        if ours is None:
            return Place(file, line)
        full, instance = ours
        name, _, arguments = full.partition("<")
        header = instance.split("\n")[0].rsplit("/", 1)[-1]
        event = (
            _BY_NAME.get(name) or _BY_FILE.get(header) or ("special" if name in _SPECIAL else "")
        )
        if name == "operator*" and header == "matrix_functions.h":
            event = "matrix_multiply"
        components = _COMPONENTS.search(arguments) if event == "special" else None
        return Place(
            file,
            line,
            event,
            instance,
            int(components[1]) if components else 1,
            name in _MACHINERY or (header in _MACHINERY_FILES and not event),
        )

    def _frames_of(self, scope: str) -> tuple[str, str]:
        """The file and the name of the function that a scope is in."""
        file = ""
        while True:
            node = self._nodes[scope]
            if not file and (found := _FILE.search(node)):
                name = _FILENAME.search(self._nodes.get(found[1], ""))
                file = name[1] if name else ""
            if "!DISubprogram" in node:
                called = _NAME.search(node)
                return file, "".join(called.groups()) if called else ""
            outer = _SCOPE.search(node)
            if outer is None:
                return file, ""
            scope = outer[1]
