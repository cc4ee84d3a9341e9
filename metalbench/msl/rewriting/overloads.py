"""Merge overloads that differ only in address spaces.

Most have the same body: they become one, and address spaces are erased. Two with different bodies
collide. Then address spaces have to stay (spaces.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metalbench.msl.reading.attributes import skip_attributes
from metalbench.msl.reading.declarations import Declaration, Range, iterate_declarations
from metalbench.msl.reading.parameters import parse_parameters
from metalbench.msl.reading.reflect import split_template_parameter
from metalbench.msl.reading.tokens import Tokens
from metalbench.msl.rewriting.spaces import SPACES, skip_qualifiers

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
