"""Pointers into an array that is a member of a struct, followed to where they are used.

A subscript of the member itself is checked by clang. Once the array has become a pointer, nothing
tells where it ends: the next member comes right behind it. So, before anything is optimised, each
pointer that an array of a struct becomes brings its bounds along: through the thread's variables of
pointers, each of which has two more beside it, and through parameters of the user's functions, of
which the caller tells the runtime right before the call. An access through such a pointer is asked
about. Pointers that take another way, as members themselves or as results, have no bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, repeat
from typing import NamedTuple

from metalbench.msl.transforms.member_calls import Function, Functions, pointers_of
from metalbench.msl.transforms.subscripts import name_constant, spelled

_VALUE = r'%(?:[\w.]+|"[^"]*")'
_HEAD = re.compile(r'define [^@]*@([\w.$]+|"[^"]*")\((.*)\) .*!dbg (!\d+) ')
_DEFINED = re.compile(rf"  ({_VALUE}) = (.*)")
_MEMBER = re.compile(
    rf"getelementptr inbounds (?:nuw )?{_VALUE}, ptr ({_VALUE}), i32 0, i32 \d+(?:,|$)"
)
_OF_ARRAY = re.compile(
    r"getelementptr inbounds (?:nuw )?(\[(\d+) x .*\]), "
    rf"ptr ({_VALUE}), i64 0, i64 ([^,\s]+)(?:,|$)"
)
_MOVED = re.compile(rf"getelementptr .*?, ptr ({_VALUE})(?:,|$)")
_LOADED = re.compile(rf"load ptr, ptr ({_VALUE}), align")
_STORED = re.compile(rf"  store ptr ([^,]+), ptr ({_VALUE}), align")
_ACCESS = re.compile(rf"  (?:{_VALUE} = load .*|store .*), ptr ({_VALUE}), align ")
# Functions of Metal's own, and copies, use what they are given.
_USING = re.compile(
    rf"  (?:{_VALUE} = )?(?:tail )?call .*@(?:llvm\.mem\w+\.|_ZN?K?V?K?(?:R|O)?(?:5metal|2mb))"
)
_PLACE = re.compile(r", (!dbg !\d+)")
_USED = re.compile(rf"\bptr (?:[a-z]\w*(?:\(\d+\))? (?:\d+ )?)*({_VALUE})")
_UNSEEN = ("llvm.lifetime", "#dbg_")


class Bounds(NamedTuple):
    """Where an array begins and how many bytes it has: two values.

    `is_direct` is an element as the source names it, which clang checks.
    """

    low: str
    size: str
    is_direct: bool = False


def with_members(lines: Sequence[str], theirs: set[str]) -> list[str]:
    """The module's lines; before each such access in `theirs`, the user's functions, a call."""
    functions = Functions({each.name: each for each in _functions(lines, theirs)})
    bodies = {each.name: _Body(lines, each) for each in functions}
    # What one function hands to another may be handed on.
    is_new = True
    while is_new:
        is_new = any(list(map(_Body.follow, bodies.values(), repeat(functions))))
    names: dict[str, int] = {}
    changed = list(lines)
    for body in bodies.values():
        body.instrument(changed, functions, names)
    named = [name_constant(f"@mb.member.{number}", name) for name, number in names.items()]
    return [*changed, *named]


def _functions(lines: Sequence[str], theirs: set[str]) -> Iterator[Function]:
    starts = [index for index, line in enumerate(lines) if line.startswith("define ")]
    for start, end in pairwise([*starts, len(lines)]):
        head = _HEAD.match(lines[start])
        if head is not None and head[3] in theirs:
            yield Function(head[1], start, end, pointers_of(head[2]))


class _Body:
    """One function: which of its pointers have bounds, and the calls that this leads to."""

    def __init__(self, lines: Sequence[str], function: Function) -> None:
        self._function = function
        self._lines = lines[function.start + 1 : function.end]
        self._made = {found[1]: found[2] for line in self._lines if (found := _DEFINED.match(line))}
        self._bounds: dict[str, Bounds] = {}
        self._kept: set[str] = set()  # variables of pointers with bounds beside them
        self._variables = self._only_loaded_and_stored()

    def _only_loaded_and_stored(self) -> set[str]:
        """Variables of pointers that nothing else is done with."""
        variables = {value for value, how in self._made.items() if how.startswith("alloca ptr,")}
        for line in self._lines:
            if any(each in line for each in _UNSEEN):
                continue
            stored, defined = _STORED.match(line), _DEFINED.match(line)
            loaded = _LOADED.match(defined[2]) if defined else None
            own = stored[2] if stored else loaded[1] if loaded else ""
            variables.difference_update(each for each in _USED.findall(line) if each != own)
            if stored:
                variables.discard(stored[1])
        return variables

    def follow(self, functions: Functions) -> bool:
        """Find pointers with bounds; whether there are more than before, here or in others."""
        before = len(self._bounds) + len(self._kept)
        for number in self._function.bounded:
            value = self._function.pointers[number]
            self._bounds.setdefault(value, _beside(value))
        known = -1
        while known != len(self._bounds) + len(self._kept):
            known = len(self._bounds) + len(self._kept)
            for line in self._lines:
                stored, defined = _STORED.match(line), _DEFINED.match(line)
                if stored and stored[1] in self._bounds and stored[2] in self._variables:
                    self._kept.add(stored[2])
                elif defined and (bounds := self._bounds_of(*defined.groups())):
                    self._bounds[defined[1]] = bounds
        handed = [functions.hand(line, self._bounds) for line in self._lines if " call " in line]
        return known != before or any(handed)

    def _bounds_of(self, value: str, how: str) -> Bounds | None:
        if (array := _OF_ARRAY.match(how)) and self._is_member(array[3]):
            # The last array of a struct that is as long as its buffer is declared with one element.
            type_, count, of, index = array.groups()
            size = f"ptrtoint (ptr getelementptr ({type_}, ptr null, i32 1) to i64)"
            return Bounds(of, size, index != "0") if int(count) > 1 else None
        if loaded := _LOADED.match(how):
            return _beside(value) if loaded[1] in self._kept else None
        moved = _MOVED.match(how)
        return self._bounds.get(moved[1]) if moved else None

    def _is_member(self, value: str) -> bool:
        return bool(_MEMBER.match(self._made.get(value, "")))

    def instrument(self, changed: list[str], functions: Functions, names: dict[str, int]) -> None:
        """Change the function's lines, where there is anything to be asked."""
        if not self._bounds:
            return
        place = next((found[1] for line in self._lines if (found := _PLACE.search(line))), "")
        for index, line in enumerate(self._lines, self._function.start + 1):
            if line == "entry:":
                changed[index] += "".join(self._received(place))
            found = _PLACE.search(line)
            before = [
                *self._stored_beside(line),
                *(self._asked(line, found[1], names) if found else ()),
                *(functions.handing(line, self._bounds, found[1]) if found else ()),
            ]
            changed[index] = "".join(f"{each}\n" for each in before) + changed[index]
            changed[index] += "".join(f"\n{each}" for each in self._loaded_beside(line))

    def _received(self, place: str) -> Iterator[str]:
        """At its beginning: what its caller has handed over."""
        for number in sorted(self._function.bounded):
            value = self._function.pointers[number]
            low, size, _ = _beside(value)
            given = f"(i32 {number}, ptr {value}), {place}"
            yield f"\n  {low} = call ptr @mb_handed_low{given}"
            yield f"\n  {size} = call i64 @mb_handed_bytes(i32 {number}), {place}"

    def _stored_beside(self, line: str) -> Iterator[str]:
        stored = _STORED.match(line)
        if stored and stored[2] in self._kept:
            low, size, _ = self._bounds.get(stored[1], Bounds("null", "0"))
            beside = _beside(stored[2])
            yield f"  store ptr {low}, ptr {beside.low}, align 8"
            yield f"  store i64 {size}, ptr {beside.size}, align 8"

    def _loaded_beside(self, line: str) -> Iterator[str]:
        defined = _DEFINED.match(line)
        if defined is None:
            return
        if defined[1] in self._kept:
            low, size, _ = _beside(defined[1])
            yield f"  {low} = alloca ptr, align 8"
            yield f"  {size} = alloca i64, align 8"
            yield f"  store ptr null, ptr {low}, align 8"
            yield f"  store i64 0, ptr {size}, align 8"
        loaded = _LOADED.match(defined[2])
        if loaded and loaded[1] in self._kept:
            value, variable = _beside(defined[1]), _beside(loaded[1])
            yield f"  {value.low} = load ptr, ptr {variable.low}, align 8"
            yield f"  {value.size} = load i64, ptr {variable.size}, align 8"

    def _asked(self, line: str, place: str, names: dict[str, int]) -> Iterator[str]:
        """Before an access: whether it is within its bounds."""
        access = _ACCESS.match(line)
        for value in [access[1]] if access else _USED.findall(line) if _USING.match(line) else []:
            bounds = self._bounds.get(value)
            if bounds and not bounds.is_direct:
                number = names.setdefault(self._name(value), len(names))
                what = f"ptr {value}, ptr {bounds.low}, i64 {bounds.size}"
                yield f"  call void @mb_within({what}, ptr @mb.member.{number}), {place}"

    def _name(self, value: str) -> str:
        """The array's own name, or that of the pointer to it."""
        how = self._made.get(value, "")
        if (array := _OF_ARRAY.match(how)) and self._is_member(array[3]):
            return f"`{spelled(array[3], self._made)}`"
        if moved := _MOVED.match(how):
            return self._name(moved[1])
        pointer = spelled(value, self._made)
        return f"the array that `{pointer}` points into" if pointer else "an array in a struct"


def _beside(value: str) -> Bounds:
    """The values beside a pointer, or the variables beside a variable of one."""
    of = value[1:].strip('"')
    return Bounds(f"%mb.low.{of}", f"%mb.bytes.{of}")
