"""The names of arrays, for messages of subscripts that are out of bounds.

Clang's own check (-fsanitize=array-bounds) tells its handler the array's type and the index. What
is subscripted is named in the LLVM IR behind the check, before anything is optimised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_HANDLER = "@__ubsan_handle_out_of_bounds("
_CALL = re.compile(r"call void @__ubsan_handle_out_of_bounds\((ptr [^,]+, i64 [^)]+)\)(?: #\d+)?")
_ELEMENT = re.compile(r"getelementptr inbounds (?:nuw )?\[\d+ x .*?\], ptr ([%@][^,]+), i64 0, i64")
_DEFINED = re.compile(r'  (%(?:[\w.]+|"[^"]*")) = (.*)')
_LOADED = re.compile(r"load ptr, ptr ([%@][^,]+)")
_MEMBER = re.compile(r"getelementptr inbounds (?:nuw )?%[^,]+, ptr ([%@][^,]+), i32 0, i32 \d+")
_MANGLED = re.compile(r"_Z(?:Z.*E|N?L?)(\d+)(\w+)")
# From a check to what it is about: past the branch and its label.
_NEAR = 12
# Of references to references, and members of members.
_DEEPEST = 8


def with_names(lines: Sequence[str]) -> list[str]:
    """The module's lines, in which each check passes on what it is about."""
    if not any(_HANDLER in line for line in lines):
        return list(lines)
    names: dict[str, int] = {}
    changed = list(lines)
    starts = [index for index, line in enumerate(lines) if line.startswith("define ")]
    for start, end in pairwise([*starts, len(lines)]):
        _name_all(changed, start, end, names)
    return [
        *changed,
        *(name_constant(f"@mb.name.{number}", name) for name, number in names.items()),
    ]


def _name_all(lines: list[str], start: int, end: int, names: dict[str, int]) -> None:
    """Those of one function."""
    made: dict[str, str] = {}
    for index in range(start, end):
        if found := _DEFINED.match(lines[index]):
            made[found[1]] = found[2]
    for index in range(start, end):
        call = _CALL.search(lines[index]) if _HANDLER in lines[index] else None
        if call is None:
            continue
        near = (_ELEMENT.search(line) for line in lines[index + 1 : min(index + _NEAR, end)])
        element = next((found for found in near if found), None)
        name = spelled(element[1], made) if element else ""
        if name:
            number = names.setdefault(name, len(names))
            given = f"call void @mb_out_of_bounds({call[1]}, ptr @mb.name.{number})"
            lines[index] = lines[index][: call.start()] + given + lines[index][call.end() :]


def spelled(value: str, made: dict[str, str], depth: int = 0) -> str:
    """What a value is called in the source: `tile`, `own.values`, `m[]`; empty without a name."""
    if value.startswith("@"):
        return _unmangled(value[1:].strip('"'))
    how = made.get(value, "")
    if depth == _DEEPEST or (not how and value[1:].isdigit()):
        return ""
    if member := _MEMBER.match(how):
        of = spelled(member[1], made, depth + 1)
        own = plain(value)
        return f"{of}.{own}" if of and of != "this" else own
    if element := _ELEMENT.match(how):
        of = spelled(element[1], made, depth + 1)
        return f"{of}[]" if of else ""
    if loaded := _LOADED.match(how):
        return spelled(loaded[1], made, depth + 1)
    return "" if value[1:].isdigit() else plain(value)


def plain(value: str) -> str:
    """The name of a variable in the source, of its value in LLVM IR.

    Without what LLVM adds: `a.addr`, and `a5` for a second `a`.
    """
    return value[1:].strip('"').removesuffix(".addr").rstrip("0123456789") or value[1:]


def _unmangled(name: str) -> str:
    found = _MANGLED.match(name)
    return found[2][: int(found[1])] if found else name


def name_constant(symbol: str, name: str) -> str:
    """A constant of the module: a name as C has it."""
    text = name.replace("\\", "/").replace('"', "'")
    size = len(text.encode()) + 1
    return f'{symbol} = private unnamed_addr constant [{size} x i8] c"{text}\\00"'
