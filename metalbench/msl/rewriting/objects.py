"""Rewrite member functions that an address space qualifies: `int f() const device`.

Clang does not accept address spaces after a function's parameters. So the object becomes an
explicit object parameter of C++23: `int f(this const device S& mb_self)`. Members are then no
longer in scope by name. Data members get references around the body; calls of member functions get
the object in front.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from metalbench.msl.reading.angles import find_opening_angle
from metalbench.msl.reading.declarations import Declaration, iterate_declarations
from metalbench.msl.reading.parameters import parse_parameters
from metalbench.msl.reading.program import Source
from metalbench.msl.reading.tokens import Tokens, is_name
from metalbench.msl.rewriting.edits import Edits
from metalbench.msl.rewriting.overloads import is_constructor
from metalbench.msl.rewriting.spaces import ATTRIBUTES, skip_qualifiers

_SELF = "mb_self"
_MEMBER_ACCESS = (".", "->", "::")


def rewrite_member_functions(source: Source, edits: Edits) -> None:
    """Name the object of every member function that is qualified by an address space."""
    listed = list(iterate_declarations(source.declarations))
    records = {each.first: each for each in listed if each.kind == "record"}
    for declaration in listed:
        space = _find_object_space(source.tokens, declaration)
        record = _find_record(source, declaration, records) if space else None
        if record is not None:
            _MethodRewriter(source, declaration, record).rewrite(space, edits)


def find_defaulted_members(tokens: Tokens, declared: list[Declaration]) -> list[Declaration]:
    """Return defaulted members to remove, so that clang defaults them implicitly.

    Clang cannot default a function that an address space qualifies. From C++20 on, a record that
    declares a constructor is not an aggregate, even if the constructor is defaulted.
    """
    found = []
    for record in iterate_declarations(declared):
        constructors = [member for member in record.members if is_constructor(member)]
        aggregate = all(_is_defaulted(tokens, member) for member in constructors)
        for member in record.members:
            words = tokens.text[member.head : member.last]
            spaced = not ATTRIBUTES.keys().isdisjoint(words)
            droppable = spaced or (aggregate and member in constructors)
            if droppable and _is_defaulted(tokens, member):
                found.append(member)
    return found


def _is_defaulted(tokens: Tokens, member: Declaration) -> bool:
    ending = tokens.text[member.last - 3 : member.last]
    return member.kind == "function" and ending == ["=", "default", ";"]


def _find_object_space(tokens: Tokens, declaration: Declaration) -> str:
    """Return the address space of a member function's object; empty if it is unqualified."""
    if declaration.parameters is None or is_constructor(declaration):
        return ""
    first = declaration.parameters[1] + 1
    words = tokens.text[first : skip_qualifiers(tokens, first)]
    return next((word for word in words if word in ATTRIBUTES), "")


@dataclass(frozen=True)
class _OwnerRecord:
    """The record of a member function, and the spelling of its type at the definition."""

    declaration: Declaration
    spelling: str


def _find_record(
    source: Source, declaration: Declaration, records: Mapping[int, Declaration]
) -> _OwnerRecord | None:
    if declaration.in_record:
        name, _, first = declaration.scope[-1].partition("@")
        return _OwnerRecord(records[int(first)], name) if name else None
    tokens, before = source.tokens, declaration.name_index - 1
    if tokens.text[before] != "::":
        return None
    # The member of a record, defined outside of it.
    start = before - 1
    if tokens.text[start] == ">":
        start = find_opening_angle(tokens, start, declaration.head) - 1
    named = source.declarations_by_name.get(tokens.text[start], [])
    spelling = tokens.join(start, before)
    return next((_OwnerRecord(each, spelling) for each in named if each.kind == "record"), None)


@dataclass(frozen=True)
class _MethodRewriter:
    """The rewriting of one member function."""

    source: Source
    declaration: Declaration
    record: _OwnerRecord

    def rewrite(self, space: str, edits: Edits) -> None:
        tokens, declaration = self.source.tokens, self.declaration
        assert declaration.parameters is not None
        opening, closing = declaration.parameters
        behind = skip_qualifiers(tokens, closing + 1)
        words = tokens.text[closing + 1 : behind]
        kept = " ".join(word for word in words if word in ("const", "volatile"))
        own = parse_parameters(tokens, opening)
        text = f"this {kept} {ATTRIBUTES[space]} {self.record.spelling}& {_SELF}"
        edits.insert(tokens.end(opening), f"{text}, " if own else text)
        void = [] if own else range(opening + 1, closing)
        for index in (*void, *range(closing + 1, behind)):
            edits.blank(tokens.start[index], tokens.end(index))
        if declaration.body:
            self._body({parameter.name for parameter in own}, edits)

    def _body(self, hidden: set[str], edits: Edits) -> None:
        tokens, body = self.source.tokens, self.declaration.body
        assert body is not None
        members = list(_find_object_members(self.source, self.record.declaration))
        functions = {each.name for each in members if each.kind == "function"} - hidden
        data = {name for each in members for name in _find_data_names(tokens, each)} - hidden
        used = set()
        for index in range(body[0] + 1, body[1]):
            word = tokens.text[index]
            if word == "this":
                edits.replace(tokens.start[index], tokens.end(index), f"(&{_SELF})")
            elif tokens.text[index - 1] in _MEMBER_ACCESS:
                continue
            elif word in functions and tokens.at(index + 1) in ("(", "<"):
                edits.insert(tokens.start[index], f"{_SELF}.")
            elif word in data:
                used.add(word)
        named = "".join(f"auto& {name} = {_SELF}.{name}; " for name in sorted(used))
        edits.insert(tokens.end(body[0]), f" {named}{{")
        edits.insert(tokens.start[body[1]], "}")


def _find_object_members(source: Source, record: Declaration) -> Iterator[Declaration]:
    """Yield the non-static members of a record and of its bases that are not templates."""
    tokens, waiting, seen = source.tokens, [record], set()
    while waiting:
        record = waiting.pop()
        if record.first in seen:
            continue
        seen.add(record.first)
        waiting += _find_bases(source, record)
        for member in record.members:
            stop = member.parameters[0] if member.parameters else member.last
            if (
                member.kind == "record"
                and not member.name
                and not _find_declarator_names(tokens, member)
            ):
                waiting.append(member)
            elif "static" not in tokens.text[member.head : stop]:
                yield member


def _find_bases(source: Source, record: Declaration) -> Iterator[Declaration]:
    tokens = source.tokens
    assert record.body is not None
    for index in range(max(record.name_index, record.head) + 1, record.body[0]):
        if tokens.at(index + 1) != "<":
            named = source.declarations_by_name.get(tokens.text[index], ())
            yield from (base for base in named if base.kind == "record")


def _find_data_names(tokens: Tokens, member: Declaration) -> Iterable[str]:
    """Return the names of the objects that a member declares."""
    if member.kind == "variable":
        return [
            _find_declarator_name(tokens, *found)
            for found in tokens.split(member.head, member.last - 1)
        ]
    return _find_declarator_names(tokens, member) if member.kind == "record" else ()


def _find_declarator_names(tokens: Tokens, record: Declaration) -> list[str]:
    """Return the declared names after the body of `struct { ... } a, b;`."""
    assert record.body is not None
    behind = tokens.split(record.body[1] + 1, record.last - 1)
    return [_find_declarator_name(tokens, *found) for found in behind]


def _find_declarator_name(tokens: Tokens, first: int, last: int) -> str:
    """Return a declarator's name: the last name before array bounds and initialiser."""
    name, index = "", first
    while index < last and tokens.text[index] not in ("=", "{", ":"):
        if tokens.text[index] == "[" and tokens.partner[index] > 0:
            index = tokens.partner[index]
        elif is_name(tokens.text[index]):
            name = tokens.text[index]
        index += 1
    return name
