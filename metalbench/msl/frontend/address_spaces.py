"""Rewrite address spaces to clang's attributes, for sources in which they select overloads.

In other sources they are erased. Clang has these address spaces for SYCL: pointers and references
to each of them convert to unqualified ones, never to one another, and the generated code is the
same. `thread` has no attribute: it is the unqualified space of local variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from metalbench.msl.frontend.declarations import (
    Declaration,
    Range,
    is_attribute_start,
    iterate_declarations,
    skip_attributes,
)
from metalbench.msl.frontend.edits import Edits
from metalbench.msl.frontend.reflection import parse_parameters, split_template_parameter
from metalbench.msl.frontend.source import Source
from metalbench.msl.frontend.tokens import Tokens, find_opening_angle, is_name

SPACES = frozenset({"device", "constant", "thread", "threadgroup", "ray_data", "object_data"})
# Address spaces without an attribute.
WITHOUT_ATTRIBUTE = frozenset({"thread", "ray_data", "object_data"})
ATTRIBUTES = {
    "device": "__attribute__((opencl_global_device))",
    "constant": "const __attribute__((opencl_global_host))",
    "threadgroup": "__attribute__((opencl_local))",
}
_FUNCTION_QUALIFIERS = frozenset({"const", "volatile", "&", "&&", *SPACES})
_FUNCTION_ENDS = frozenset({"{", ":", ";", "=", "->", "noexcept"})


def rewrite_address_spaces(tokens: Tokens, edits: Edits, parameters: Iterable[int]) -> None:
    """Replace address spaces by attributes. Erase those that qualify functions.

    `parameters` are the opening parentheses of all functions' parameters.
    """
    for opening in parameters:
        for first, last in tokens.split(opening + 1, tokens.partner[opening]):
            _rewrite_array_parameter(tokens, edits, first, last)
    for word, attribute in ATTRIBUTES.items():
        for index in tokens.occurrences.get(word, ()):
            if is_function_qualifier(tokens, index):
                edits.blank(tokens.start[index], tokens.end(index))
            else:
                edits.replace(tokens.start[index], tokens.end(index), attribute)


def _rewrite_array_parameter(tokens: Tokens, edits: Edits, first: int, last: int) -> None:
    """Rewrite `constant int a[2]` to `constant int (*a)`: a parameter has no address space."""
    if ATTRIBUTES.keys().isdisjoint(tokens.text[first:last]):
        return
    for index in range(first + 1, last):
        text = tokens.text[index]
        if text in ("*", "&", "&&", "(", "="):
            return
        if (
            text == "["
            and not is_attribute_start(tokens, index)
            and is_name(tokens.text[index - 1])
        ):
            edits.insert(tokens.start[index - 1], "(*")
            edits.replace(tokens.start[index], tokens.end(tokens.partner[index]), ")")
            return


def skip_qualifiers(tokens: Tokens, index: int) -> int:
    """Return the index after the qualifiers of a function that begin at `index`."""
    while tokens.at(index) in _FUNCTION_QUALIFIERS:
        index += 1
    return index


def is_function_qualifier(tokens: Tokens, index: int) -> bool:
    """Return whether an address space follows the parameters of a function: it is the object's."""
    first = index
    while first > 0 and tokens.text[first] in _FUNCTION_QUALIFIERS:
        first -= 1
    return tokens.text[first] == ")" and tokens.at(skip_qualifiers(tokens, index)) in _FUNCTION_ENDS


# Rewrite `c ? a : b` with records in different address spaces, of which Metal takes the values.
#
# Clang looks for a common type that includes the qualifiers, and finds none. So operands that name
# an object are wrapped in mb::operand (mb/spaces.h), which copies a record out of its address
# space.

_NOT_OBJECTS = frozenset({"true", "false", "nullptr", "sizeof", "throw"})
_OPERAND_ENDS = frozenset({",", ";", ")", "]", "}", ":"})


def rewrite_conditionals(tokens: Tokens, edits: Edits) -> None:
    """Wrap the operands of conditional operators that name objects."""
    waiting: list[int] = []
    for index, text in enumerate(tokens.text):
        if text == "?":
            waiting.append(index)
            _wrap_operand(tokens, edits, index + 1)
        elif text in (";", "{", "}"):
            waiting.clear()
        elif text == ":" and waiting:
            waiting.pop()
            _wrap_operand(tokens, edits, index + 1)


def _wrap_operand(tokens: Tokens, edits: Edits, first: int) -> None:
    last = _skip_object(tokens, first)
    if last > first and tokens.at(last) in _OPERAND_ENDS:
        edits.insert(tokens.start[first], "mb::operand(")
        edits.insert(tokens.end(last - 1), ")")


def _skip_object(tokens: Tokens, index: int) -> int:
    """Return the index after `*p`, `a.b[i]` and the like; `index` if there is no object."""
    first = index
    while tokens.at(index) == "*":
        index += 1
    if not is_name(tokens.at(index)) or tokens.text[index] in _NOT_OBJECTS:
        return first
    index += 1
    while index < len(tokens):
        if tokens.text[index] in (".", "->", "::") and is_name(tokens.at(index + 1)):
            index += 2
        elif tokens.text[index] == "[" and tokens.partner[index] > 0:
            index = tokens.partner[index] + 1
        else:
            break
    return index


# Merge overloads that differ only in address spaces.
#
# Most have the same body: they become one, and address spaces are erased. Two with different bodies
# collide. Then address spaces have to stay (spaces.py).

_FUNCTION_SPECIFIERS = frozenset(
    {"inline", "static", "METAL_FUNC", "constexpr", "explicit", "friend"}
)
Words = tuple[str, ...]
Spaces = frozenset[str]


@dataclass(frozen=True)
class Collision:
    """Two declarations that are equal without address spaces but have different bodies."""

    kept: Declaration
    dropped: Declaration


def merge_overloads(
    tokens: Tokens, declared: list[Declaration], erased: Spaces = SPACES
) -> tuple[list[Declaration], list[Collision]]:
    """Return declarations to remove, and pairs that are ambiguous without the `erased` spaces."""
    families: dict[tuple[tuple[str, ...], str], list[Declaration]] = {}
    for declaration in iterate_declarations(declared):
        mergeable = (
            declaration.kind in ("function", "record", "variable")
            and declaration.name
            and tokens.text[declaration.head] != "extern"
        )
        redeclared = declaration.in_record or declaration.body or declaration.kind == "variable"
        if mergeable and redeclared:
            families.setdefault((declaration.scope, declaration.name), []).append(declaration)
    dropped: list[Declaration] = []
    collisions: list[Collision] = []
    for family in families.values():
        if len(family) > 1 and any(_has_address_space(tokens, found) for found in family):
            _merge_family(_CanonicalSpelling(tokens, erased), family, dropped, collisions)
    return dropped, collisions


def _has_address_space(tokens: Tokens, declaration: Declaration) -> bool:
    stop = declaration.body[0] if declaration.body else declaration.last
    words = tokens.text[declaration.first : stop]
    return not SPACES.isdisjoint(words)


def _merge_family(
    spelling: _CanonicalSpelling,
    family: list[Declaration],
    dropped: list[Declaration],
    collisions: list[Collision],
) -> None:
    kept: dict[Words, tuple[Declaration, Words]] = {}
    for declaration in family:
        names = _number_template_parameters(spelling.tokens, declaration)
        signature = spelling.signature(declaration, names)
        content = spelling.content(declaration, names)
        if signature not in kept:
            kept[signature] = (declaration, content)
            continue
        first, expected = kept[signature]
        dropped.append(declaration)
        if content != expected:
            collisions.append(Collision(first, declaration))


def _number_template_parameters(tokens: Tokens, declaration: Declaration) -> dict[str, str]:
    names = [split_template_parameter(tokens, *found)[0] for found in declaration.template or ()]
    return {name: f"${index}" for index, name in enumerate(names) if name}


def _order_qualifiers(words: Iterable[str]) -> list[str]:
    """Return `T const device *` as `const device T *`."""
    listed = list(words)
    cut = next(
        (index for index, word in enumerate(listed) if word in ("*", "&", "&&")), len(listed)
    )
    pointee = listed[:cut]
    qualifiers = sorted({"const", *SPACES}.intersection(pointee))
    return qualifiers + [word for word in pointee if word not in qualifiers] + listed[cut:]


def is_constructor(declaration: Declaration) -> bool:
    """Return whether a function is a constructor, which cannot be `const`."""
    return declaration.in_record and declaration.scope[-1].split("@")[0] == declaration.name


def find_constructor_qualifiers(tokens: Tokens, declared: list[Declaration]) -> list[int]:
    """Return the address spaces after constructors' parameters, which C++ does not allow."""
    found: list[int] = []
    for declaration in iterate_declarations(declared):
        if declaration.parameters and is_constructor(declaration):
            first = declaration.parameters[1] + 1
            found += range(first, skip_qualifiers(tokens, first))
    return found


@dataclass(frozen=True)
class _CanonicalSpelling:
    """Canonical spelling: without erased address spaces, template parameters by number."""

    tokens: Tokens
    erased: Spaces

    def words(self, found: Range, names: dict[str, str]) -> list[str]:
        """Return the canonical tokens of a range, without attributes."""
        kept = skip_attributes(self.tokens, *found)
        return self._canonical([self.tokens.text[index] for index in kept], names)

    def _canonical(self, given: Iterable[str], names: dict[str, str]) -> list[str]:
        words: list[str] = []
        for word in given:
            if word in self.erased and word != "constant":
                continue
            erased = word in self.erased
            canonical = "const" if erased else names.get(word, word)
            if canonical == "const" and words[-1:] == ["const"]:
                continue
            words.append(canonical)
        return words

    def signature(self, declaration: Declaration, names: dict[str, str]) -> Words:
        """Return the tokens that identify a declaration among its overloads."""
        signature: list[str] = [declaration.kind]
        for found in declaration.template or ():
            signature += [*_strip_default(self.words(found, names)), ","]
        if declaration.specialisation_arguments:
            signature += ["<", *self.words(declaration.specialisation_arguments, names), ">"]
        if declaration.parameters is None:
            return tuple(signature)
        opening, closing = declaration.parameters
        result = self.words((declaration.head, declaration.name_index), names)
        signature += [word for word in result if word not in _FUNCTION_SPECIFIERS]
        for parameter in parse_parameters(self.tokens, opening):
            words = self._canonical(parameter.tokens, names)
            words = [word for word in words if word != parameter.name]
            signature += [
                ",",
                *_order_qualifiers(dict.fromkeys(words) if "const" in words else words),
            ]
        if is_constructor(declaration):
            return (*signature, ")")
        after = skip_qualifiers(self.tokens, closing + 1)
        return (*signature, ")", *self.words((closing + 1, after), names))

    def content(self, declaration: Declaration, names: dict[str, str]) -> Words:
        """Return the tokens after the signature."""
        begin = declaration.head
        if declaration.parameters:
            begin = skip_qualifiers(self.tokens, declaration.parameters[1] + 1)
        elif declaration.specialisation_arguments:
            begin = declaration.specialisation_arguments[1] + 1
        words = tuple(self.words((begin, declaration.last), names))
        words = tuple(word for word in words if word != "const")
        return ("{", "}") if words == ("=", "default", ";") else words


def _strip_default(words: list[str]) -> list[str]:
    """Return a template type parameter without its default, which does not affect the signature."""
    depth = 0
    for index, word in enumerate(words):
        depth += (word == "<") - (word == ">")
        if word == "=" and depth <= 0 and words[0] in ("typename", "class"):
            return words[:index]
    return words


# Rewrite member functions that an address space qualifies: `int f() const device`.
#
# Clang does not accept address spaces after a function's parameters. So the object becomes an
# explicit object parameter of C++23: `int f(this const device S& mb_self)`. Members are then no
# longer in scope by name. Data members get references around the body; calls of member functions
# get the object in front.

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
