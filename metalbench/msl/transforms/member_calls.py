"""Bounds of arrays that are members of structs, from a call to the function that it calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

# As many as csrc/msl/mb/cpu/abi.h has room for.
_MOST = 8
_CALL = re.compile(r'  (?:%(?:[\w.]+|"[^"]*") = )?(?:tail )?call .*?@([\w.$]+|"[^"]*")\((.*)\)')
_POINTER = re.compile(r'ptr (?:[a-z]\w*(?:\([^)]*\))? (?:\d+ )?)*(%(?:[\w.]+|"[^"]*"))$')


class Bounded(Protocol):
    """Where an array begins and how many bytes it has: two values."""

    @property
    def low(self) -> str:
        """The pointer to its first element."""

    @property
    def size(self) -> str:
        """How many bytes."""


@dataclass
class Function:
    """A function's lines, its parameters that are pointers, and which of these have bounds."""

    name: str
    start: int
    end: int
    pointers: Mapping[int, str]
    bounded: set[int] = field(default_factory=set)


class Functions:
    """The user's functions of a module, by name."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions

    def __iter__(self) -> Iterator[Function]:
        return iter(self._functions.values())

    def hand(self, line: str, bounds: Mapping[str, Bounded]) -> bool:
        """Note which parameters a call gives bounds; whether one had none yet."""
        called, given = self._called(line)
        if called is None:
            return False
        handed = {number for number, value in given.items() if value in bounds and number < _MOST}
        is_new = not handed <= called.bounded
        called.bounded |= handed
        return is_new

    def handing(self, line: str, bounds: Mapping[str, Bounded], place: str) -> Iterator[str]:
        """What is to come before a call: the bounds of each parameter that may have some."""
        called, given = self._called(line)
        for number in sorted(called.bounded) if called else ():
            known = bounds.get(given.get(number, ""))
            if known:
                what = f"ptr {given[number]}, ptr {known.low}, i64 {known.size}"
                yield f"  call void @mb_hand(i32 {number}, {what}), {place}"

    def _called(self, line: str) -> tuple[Function | None, Mapping[int, str]]:
        call = _CALL.match(line)
        called = self._functions.get(call[1]) if call else None
        return called, pointers_of(call[2]) if call and called else {}


def pointers_of(parameters: str) -> dict[int, str]:
    """The values that are pointers in a list of parameters, by their place."""
    parts, depth = [""], 0
    for letter in parameters:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    found = {number: _POINTER.match(part.strip()) for number, part in enumerate(parts)}
    return {number: pointer[1] for number, pointer in found.items() if pointer}
