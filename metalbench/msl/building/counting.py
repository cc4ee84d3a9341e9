"""Counted builds: calls in a kernel's LLVM IR that tell the runtime what its source does.

They are put there before anything is optimised, where every load and store of the source still is
one. What lies on a thread's own stack is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from metalbench.msl.building.metal_calls import Calls, Place
from metalbench.msl.building.private_memory import Bases

_DEFINE = re.compile(r"define [^@]*@(?:\"[^\"]*\"|[\w.$-]+)\(.*!dbg (!\d+) ")
_LABEL = re.compile(r"(?:[\w.$-]+|\"[^\"]*\"):")
_DEBUG = re.compile(r", !dbg (!\d+)")
_LOAD = re.compile(r"  %\S+ = load (?:volatile )?(?P<type>.+?), ptr (?P<at>%[\w.]+)[,\s]")
_STORE = re.compile(
    r"  store (?:volatile )?(?P<type>\w+|<[^>]*>|\[[^\]]*\]) [^,]+, ptr (?P<at>%[\w.]+)[,\s]"
)
_ATOMIC = re.compile(
    r"  (?:%\S+ = )?(?:load atomic|store atomic|atomicrmw|cmpxchg) .*?\bptr (?P<at>%[\w.]+)"
)
_COPY = re.compile(
    r"  (?:tail )?call void @llvm\.mem(?:cpy|move)\.[\w.]+\(ptr [^%@]*(?P<to>[%@][\w.$-]+), "
    r"ptr [^%@]*(?P<source>[%@][\w.$-]+), i64 (?P<bytes>\d+)"
)
_FILL = re.compile(
    r"  (?:tail )?call void @llvm\.memset\.[\w.]+\(ptr [^%@]*(?P<to>[%@][\w.$-]+), [^,]*, "
    r"i64 (?P<bytes>\d+)"
)
_CALL = re.compile(r"  (?:%\S+ = )?(?:tail |notail |musttail )?call ")
_INTRINSIC = re.compile(r"@llvm\.|@mb_count_| asm ")
_BYTES = {"i1": 1, "i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4}
_WIDE = {"i64": 8, "double": 8, "ptr": 8}
_VECTOR = re.compile(r"[<\[](\d+) x (.+)[>\]]")
_ATOMIC_TYPE = re.compile(r"\b(i8|i16|i32|i64|float|half)\b")
READ, WRITE, ATOMIC = range(3)
_OPERATIONS = {
    "fadd": "add", "fsub": "add", "fneg": "add", "fmul": "multiply", "fdiv": "divide",
    "frem": "divide", "fcmp": "compare",
    "add": "integer", "sub": "integer", "mul": "integer", "shl": "integer", "lshr": "integer",
    "ashr": "integer", "and": "integer", "or": "integer", "xor": "integer", "icmp": "integer",
    "udiv": "integer_divide", "sdiv": "integer_divide", "urem": "integer_divide",
    "srem": "integer_divide",
}  # fmt: skip
_INTRINSICS = {
    "fma": "fma", "fmuladd": "fma", "sqrt": "special", "minnum": "compare", "maxnum": "compare",
    "fabs": "compare", "floor": "compare", "ceil": "compare", "trunc": "compare",
    "rint": "compare", "copysign": "compare", "round": "compare", "smin": "integer",
    "smax": "integer", "umin": "integer", "umax": "integer", "ctpop": "integer",
    "ctlz": "integer", "cttz": "integer", "bitreverse": "integer", "abs": "integer",
}  # fmt: skip
_OPERATION = re.compile(r"  %\S+ = (?P<op>[a-z]+) (?P<rest>.*)")
_CALLED = re.compile(r"@llvm\.(?P<name>\w+)\.(?P<type>v\d+)?")


@dataclass
class Site:
    """An instruction that accesses memory; `kind` is of READ, WRITE, ATOMIC."""

    file: str
    line: int
    kind: int
    bytes: int


@dataclass
class Segment:
    """Code without branches: what each run of it does, by (file, line) and what it is."""

    work: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, place: Place, what: str, count: int = 1) -> None:
        """Count something at a line."""
        of_line = self.work.setdefault(f"{place.file}:{place.line}", {})
        of_line[what] = of_line.get(what, 0) + count


@dataclass
class Counted:
    """What the calls in a module are numbers of."""

    sites: list[Site] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return asdict(self)


def count(text: str) -> tuple[str, Counted]:
    """The IR with its calls, and what these stand for."""
    lines = text.split("\n")
    counted = Counted()
    calls = Calls(lines)
    result: list[str] = []
    at = 0
    while at < len(lines):
        head = _DEFINE.match(lines[at])
        if head is None:
            result.append(lines[at])
            at += 1
            continue
        end = next(i for i in range(at, len(lines)) if lines[i] == "}")
        body = lines[at:end]
        result += _Function(body, calls, counted, head[1]).lines() if calls.is_users(body) else body
        at = end
    return "\n".join(result), counted


class _Function:
    """One function that has code of the user's: inlined in it, or its own."""

    def __init__(self, body: Sequence[str], calls: Calls, counted: Counted, scope: str) -> None:
        self._body = body
        self._calls = calls
        self._counted = counted
        self._bases = Bases(body)
        self._nowhere = calls.nowhere(scope)
        # Calls of Metal's functions, each of which is counted once: where it begins.
        self._begun: set[str] = set()
        self._segment = Segment()
        self._number = -1

    def lines(self) -> Iterator[str]:
        """The function with its calls."""
        yield self._body[0]
        starts = True
        for line in self._body[1:]:
            if _LABEL.match(line):
                starts = True
            elif line.startswith("  ") and not line.startswith("   ") and " = phi " not in line:
                if starts and " = alloca " not in line:
                    yield self._begin()
                    starts = False
                yield from self._counting(line)
                starts |= bool(_CALL.match(line)) and not _INTRINSIC.search(line)
            yield line

    def _begin(self) -> str:
        self._number = len(self._counted.segments)
        self._segment = Segment()
        self._counted.segments.append(self._segment)
        return f"  call void @mb_count_segment(i32 {self._number}), !dbg {self._nowhere}"

    def _counting(self, line: str) -> Iterator[str]:
        debug = _DEBUG.search(line)
        place = self._calls.place(debug[1]) if debug else None
        if place is None:
            return
        if place.event and place.instance not in self._begun:
            self._begun.add(place.instance)
            self._segment.add(place, place.event, place.count)
        if place.event == "atomic":
            if (found := _ATOMIC.match(line)) and f"{place.instance}a" not in self._begun:
                self._begun.add(f"{place.instance}a")
                kind = _ATOMIC_TYPE.search(line)
                yield self._access(place, found["at"], bytes_of(kind[1] if kind else "i32"), ATOMIC)
            return
        if place.is_machinery:
            return
        yield from self._accesses(line, place)
        if not place.event:
            self._arithmetic(line, place)

    def _accesses(self, line: str, place: Place) -> Iterator[str]:
        found: list[tuple[str, int, int]] = []
        if copy := _COPY.match(line):
            found = [
                (copy["source"], int(copy["bytes"]), READ),
                (copy["to"], int(copy["bytes"]), WRITE),
            ]
        elif fill := _FILL.match(line):
            found = [(fill["to"], int(fill["bytes"]), WRITE)]
        elif load := _LOAD.match(line):
            found = [(load["at"], bytes_of(load["type"]), READ)]
        elif store := _STORE.match(line):
            found = [(store["at"], bytes_of(store["type"]), WRITE)]
        for pointer, size, kind in found:
            if not self._bases.is_private(pointer):
                yield self._access(place, pointer, size, kind)

    def _access(self, place: Place, pointer: str, size: int, kind: int) -> str:
        site = len(self._counted.sites)
        self._counted.sites.append(Site(place.file, place.line, kind, size))
        numbers = f"i32 {size}, i32 {kind}, i32 {site}, i32 {self._number}"
        return f"  call void @mb_count_access(ptr {pointer}, {numbers}), !dbg {self._nowhere}"

    def _arithmetic(self, line: str, place: Place) -> None:
        found = _OPERATION.match(line)
        if found is None:
            return
        if found["op"] in ("call", "tail", "notail"):
            called = _CALLED.search(line)
            if called and called["name"] in _INTRINSICS:
                width = int((called["type"] or "v1")[1:])
                self._segment.add(place, _INTRINSICS[called["name"]], width)
        elif found["op"] in _OPERATIONS:
            vector = re.match(r"(?:\w+ )*<(\d+) x ", found["rest"])
            self._segment.add(place, _OPERATIONS[found["op"]], int(vector[1]) if vector else 1)


def bytes_of(kind: str) -> int:
    """The size of a type as loads and stores have it, in bytes."""
    known = {**_BYTES, **_WIDE}.get(kind)
    if known is not None:
        return known
    vector = _VECTOR.fullmatch(kind)
    return int(vector[1]) * bytes_of(vector[2]) if vector else 0
