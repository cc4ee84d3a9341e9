"""Cut a module of LLVM IR into parts: some entry points each, with all that they reach."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cached_property

from metalbench.msl.ir.model import Function
from metalbench.msl.ir.module import LLVM_NAMES, Global, Module
from metalbench.msl.ir.types import POINTER, ArrayType

# Linkages of definitions that a module contains only if another definition uses them.
_ON_DEMAND = frozenset({"internal", "private", "linkonce", "linkonce_odr", "available_externally"})
# Lists of what must not be left out, even if nothing needs it.
_USED = ("@llvm.used", "@llvm.compiler.used")


class PartitionedModule:
    """A module that is split into parts, each with some of its entry points `entries`.

    Names of entry points are without `@`.
    """

    def __init__(self, module: Module, entries: Collection[str]) -> None:
        self._module = module
        self._entries = {f"@{each}" for each in entries}
        self._definitions: dict[str, Function | Global] = {
            **module.globals,
            **{f"@{name}": each for name, each in module.functions.items()},
        }
        self._used = [each for name, each in module.globals.items() if name in _USED]
        self._mentions: dict[str, set[str]] = {}

    def part(self, entries: Collection[str]) -> Module:
        """Return a module with these entry points only."""
        reached = self._reach({*_with_sign(entries), *self._always})
        part = self._module.select(reached)
        for each in self._used:
            kept = [name for name in each.globals if name in reached]
            values = ", ".join(f"ptr {name}" for name in kept)
            shorter = each.with_initializer(ArrayType(len(kept), POINTER), f"[{values}]")
            part.replace_line(each.text, shorter.text)
        return part

    def weight(self, entry: str) -> int:
        """Return the length of the text that an entry point adds to a part."""
        added = self._reach({*_with_sign([entry])}) - self._always
        return sum(len(str(self._definitions[each])) for each in added)

    @cached_property
    def _always(self) -> set[str]:
        """Return what every part has: what is visible outside, or in a list of used symbols."""
        kept = {
            name
            for name, each in self._definitions.items()
            if each.linkage not in _ON_DEMAND and not name.startswith(LLVM_NAMES)
        }
        used = {name for each in self._used for name in each.globals}
        return self._reach((kept | used) - self._entries)

    def _reach(self, roots: set[str]) -> set[str]:
        found: set[str] = set()
        waiting = [each for each in roots if each in self._definitions]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._list_mentions(name) - found
        return found

    def _list_mentions(self, name: str) -> set[str]:
        """Return the definitions that a function or a variable mentions."""
        if name not in self._mentions:
            self._mentions[name] = self._definitions.keys() & {*self._definitions[name].globals}
        return self._mentions[name]


_METADATA = re.compile(r"![0-9]+")
_FIRST_DEFINITION = re.compile(r"\n![0-9]+ = ")


def drop_unused_metadata(ir: str) -> str:
    """Return a module without the numbered metadata that neither code nor named metadata reaches.

    A part has the locations of all lines of its module otherwise, and LLVM reads them first.
    """
    first = _FIRST_DEFINITION.search(ir)
    if first is None:
        return ir
    # The definitions are at the end. Only there are the lines looked at one by one.
    code, lines = ir[: first.start()], ir[first.start() + 1 :].split("\n")
    waiting = set(_METADATA.findall(code))
    definitions: dict[str, str] = {}
    for line in lines:
        name, is_definition, value = line.partition(" = ")
        if is_definition and name[0] == "!" and name[1:].isdigit():
            definitions[name] = value
        else:
            waiting.update(_METADATA.findall(line))
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting.update(set(_METADATA.findall(definitions.get(name, ""))) - found)
    unused = definitions.keys() - found
    kept = [line for line in lines if line.partition(" = ")[0] not in unused]
    return "\n".join([code, *kept])


def _with_sign(names: Iterable[str]) -> set[str]:
    return {f"@{each}" for each in names}
