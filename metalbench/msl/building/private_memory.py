"""Which pointers of a function point to its own stack, as the IR shows before it is optimised."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ALLOCA = re.compile(r"  (%[\w.]+) = alloca ")
_DERIVED = re.compile(
    r"  (%[\w.]+) = getelementptr (?:inbounds |nuw |nusw )*.*?, ptr ([%@][\w.$-]+)"
)
_LOADED = re.compile(r"  (%[\w.]+) = load ptr, ptr (%[\w.]+)[,\s]")
_KEPT = re.compile(r"  store ptr ([%@]?[\w.$-]+), ptr (%[\w.]+)[,\s]")
_SLOT = re.compile(r"  (?:%[\w.]+ = load \w+, ptr|store ptr [^,]+, ptr) (%[\w.]+)[,\s]")
_NAME = re.compile(r"%[\w.]+")


class Bases:
    """Follows pointers back through members, elements and variables that are set once."""

    def __init__(self, body: Sequence[str]) -> None:
        self._private: set[str] = set()
        self._from: dict[str, str] = {}
        self._loaded: dict[str, str] = {}
        kept: dict[str, list[str]] = {}
        for line in body:
            if found := _ALLOCA.match(line):
                self._private.add(found[1])
            elif found := _DERIVED.match(line):
                self._from[found[1]] = found[2]
            elif found := _LOADED.match(line):
                self._loaded[found[1]] = found[2]
            elif found := _KEPT.match(line):
                kept.setdefault(found[2], []).append(found[1])
        changed = _with_other_uses(body, set(kept) & self._private)
        # What a variable holds that is set once, and whose address nobody has.
        self._held = {
            slot: values[0]
            for slot, values in kept.items()
            if slot in self._private and len(values) == 1 and slot not in changed
        }

    def is_private(self, pointer: str) -> bool:
        """Whether it points to the stack for sure, or to what an array is initialised from."""
        for _ in range(1000):
            if pointer in self._private or pointer.startswith("@__const."):
                return True
            if pointer in self._from:
                pointer = self._from[pointer]
            elif self._loaded.get(pointer) in self._held:
                pointer = self._held[self._loaded[pointer]]
            else:
                return False
        return False


def _with_other_uses(body: Sequence[str], slots: set[str]) -> set[str]:
    """Those of the variables that are used other than read and set as wholes."""
    found = set()
    for line in body:
        if " = alloca " in line:
            continue
        plain = _SLOT.match(line)
        names = _NAME.findall(line)
        if plain:
            # A variable whose address is itself stored.
            names.remove(plain[1])
        found.update(slots.intersection(names))
    return found
