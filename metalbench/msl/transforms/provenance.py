"""Which pointer an access's address is computed from, for checked builds.

A pointer with an index may reach other memory of the kernel's than the pointer itself is of:
another buffer, another threadgroup variable. Once it is an address nobody can tell. So each address
that is used at once, and not kept for later, is handed to the runtime with the pointer that it
comes from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_POINTER = r"%[\w.]+"
_INDEXED = re.compile(
    rf"  ({_POINTER}) = getelementptr (?:inbounds |nuw |nusw )*"
    rf"(?:%\"[^\"]*\"|[^,\"]+), ptr ({_POINTER}), i(?:32|64) {_POINTER}(, !dbg !\d+)"
)
_MEMBER = re.compile(
    rf"  ({_POINTER}) = getelementptr .*, ptr ({_POINTER}), i32 0(?:, i(?:32|64) \d+)+"
)
_ACCESS = re.compile(rf"  (?:{_POINTER} = load .*|store .*), ptr ({_POINTER}), align ")
_COPY = re.compile(r"  (?:tail )?call void @llvm\.mem(?:cpy|move|set)\.")
# Functions and operators of Metal's own use what they are given.
_METAL = re.compile(r"  (?:%[\w.]+ = )?call .*@_ZN?K?V?K?(?:R|O)?(?:5metal|2mb)")
_ARGUMENT = re.compile(rf"\bptr (?:[a-z]\w*(?:\(\d+\))? (?:\d+ )?)*({_POINTER})")
_HEAD = re.compile(r"define .* !dbg (!\d+) ")


def with_origins(lines: Sequence[str], theirs: set[str]) -> list[str]:
    """The module's lines; behind each such address in `theirs`, the user's functions, a call."""
    changed = list(lines)
    starts = [index for index, line in enumerate(lines) if line.startswith("define ")]
    for start, end in pairwise([*starts, len(lines)]):
        head = _HEAD.match(lines[start])
        if head is None or head[1] not in theirs:
            continue
        indexed = [
            (index, found) for index in range(start, end) if (found := _INDEXED.match(lines[index]))
        ]
        used = _used(lines[start:end]) if indexed else set()
        for index, found in indexed:
            if found[1] in used:
                changed[index] += (
                    f"\n  call void @mb_moved(ptr {found[2]}, ptr {found[1]}){found[3]}"
                )
    return changed


def _used(body: Sequence[str]) -> set[str]:
    """The pointers through which a function accesses memory, or a member of what is there."""
    used, members = set(), []
    for line in body:
        if found := _ACCESS.match(line):
            used.add(found[1])
        elif found := _MEMBER.match(line):
            members.append((found[1], found[2]))
        elif _COPY.match(line) or _METAL.match(line):
            used.update(_ARGUMENT.findall(line))
    for member, of in reversed(members):
        if member in used:
            used.add(of)
    return used
