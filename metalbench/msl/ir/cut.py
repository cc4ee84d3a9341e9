"""Cut a module of LLVM IR into parts: some entry points each, with all that they reach."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cached_property

from metalbench.msl.ir.text import IrError

_NAME = r'@("[^"\n]*"|[\w.$-]+)'
# A function's definition, or a variable's line.
_DEFINED = re.compile(
    rf"^(?:define (?P<function>[^@\n]*){_NAME}\(.*?^\}}$|{_NAME} = (?P<variable>[^\n]*)$)",
    re.M | re.DOTALL,
)
_MENTIONED = re.compile(_NAME)
# Definitions that a module contains only if another definition uses them.
_ON_DEMAND = re.compile(r"(?:internal|private|linkonce|linkonce_odr|available_externally) ")
# Lists of what must not be left out, even if nothing needs it.
_USED = re.compile(r"^(@llvm(?:\.compiler)?\.used = [^\[]*)\[\d+ x ptr\] \[([^\]]*)\]", re.M)


class PartitionedModule:
    """A module that is split into parts, each with some of its entry points `entries`."""

    def __init__(self, text: str, entries: Collection[str]) -> None:
        self._text = text
        self._entries = frozenset(entries)
        self._places: dict[str, tuple[int, int]] = {}
        self._kept: set[str] = set()
        for found in _DEFINED.finditer(text):
            name = found[2] or found[3]
            self._places[name] = found.span()
            said = found["function"] if found["variable"] is None else found["variable"]
            if not (_ON_DEMAND.match(said) or name in self._entries or name.startswith("llvm.")):
                self._kept.add(name)
        self._mentions: dict[str, set[str]] = {}

    def part(self, entries: Collection[str]) -> str:
        """Return the module with these entry points only."""
        reached = self._reach({*entries, *self._always})
        pieces, position = [], 0
        for name, (start, end) in self._places.items():
            if name not in reached and not name.startswith("llvm."):
                pieces.append(self._text[position:start])
                position = end
        pieces.append(self._text[position:])
        return _USED.sub(lambda found: _without(found, reached), "".join(pieces))

    def weight(self, entry: str) -> int:
        """Return the length of the text that an entry point adds to a part."""
        added = self._reach({entry}) - self._always
        return sum(end - start for start, end in (self._places[each] for each in added))

    @cached_property
    def _always(self) -> set[str]:
        """Return what every part has: what is visible outside, or in a list of used symbols."""
        used = " ".join(found[2] for found in _USED.finditer(self._text))
        return self._reach({*self._kept, *_MENTIONED.findall(used)} - self._entries)

    def _reach(self, roots: set[str]) -> set[str]:
        found: set[str] = set()
        waiting = [each for each in roots if each in self._places]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._list_mentions(name) - found
        return found

    def _list_mentions(self, name: str) -> set[str]:
        """Return the definitions that a function or a variable mentions."""
        if name not in self._mentions:
            start, end = self._places[name]
            words = set(_MENTIONED.findall(self._text, start, end))
            self._mentions[name] = {each for each in words if each in self._places}
        return self._mentions[name]


def rename_globals(text: str, names: Mapping[str, str]) -> str:
    """Return a module's text with other names of functions and variables, all without `@`.

    Raises IrError for a name that the module has not.
    """
    if missing := {*names}.difference(_MENTIONED.findall(text)):
        raise IrError(f"the module has no {min(missing)}")
    return _MENTIONED.sub(lambda found: f"@{names.get(found[1], found[1])}", text)


def _without(used: re.Match[str], reached: set[str]) -> str:
    """The list of what is used, with those that are there."""
    kept = [each for each in used[2].split(", ") if each.rpartition("@")[2] in reached]
    return f"{used[1]}[{len(kept)} x ptr] [{', '.join(kept)}]"
