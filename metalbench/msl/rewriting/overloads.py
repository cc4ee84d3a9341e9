"""Overloads that differ only by address space become one: without address spaces they collide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metalbench.msl.reading.attributes import without_attributes
from metalbench.msl.reading.declarations import Declaration, Range, every
from metalbench.msl.reading.parameters import parameters_of
from metalbench.msl.reading.reflect import template_parameter
from metalbench.msl.reading.tokens import Tokens

_SPACES = frozenset({"device", "thread", "threadgroup", "ray_data", "object_data"})
_SPECIFIERS = frozenset({"inline", "static", "METAL_FUNC", "constexpr", "explicit", "friend"})
Words = tuple[str, ...]


@dataclass(frozen=True)
class Collision:
    """Two declarations that are the same without address spaces but have different bodies."""

    kept: Declaration
    dropped: Declaration


def merge(tokens: Tokens, declared: list[Declaration]) -> tuple[list[Declaration], list[Collision]]:
    """Which declarations to remove, and which pairs cannot be told apart any more."""
    families: dict[tuple[tuple[str, ...], str], list[Declaration]] = {}
    for declaration in every(declared):
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
        if len(family) > 1 and any(_mentions_space(tokens, found) for found in family):
            _merge_family(tokens, family, dropped, collisions)
    return dropped, collisions


def _mentions_space(tokens: Tokens, declaration: Declaration) -> bool:
    stop = declaration.body[0] if declaration.body else declaration.last
    words = tokens.text[declaration.first : stop]
    return any(word in _SPACES or word == "constant" for word in words)


def _merge_family(
    tokens: Tokens,
    family: list[Declaration],
    dropped: list[Declaration],
    collisions: list[Collision],
) -> None:
    kept: dict[Words, tuple[Declaration, Words]] = {}
    for declaration in family:
        names = _template_names(tokens, declaration)
        signature = _signature(tokens, declaration, names)
        content = _content(tokens, declaration, names)
        if signature not in kept:
            kept[signature] = (declaration, content)
            continue
        first, expected = kept[signature]
        dropped.append(declaration)
        if content != expected:
            collisions.append(Collision(first, declaration))


def _template_names(tokens: Tokens, declaration: Declaration) -> dict[str, str]:
    names = [template_parameter(tokens, *found)[0] for found in declaration.template or ()]
    return {name: f"${index}" for index, name in enumerate(names) if name}


def _words(tokens: Tokens, found: Range, names: dict[str, str]) -> list[str]:
    """Canonical spelling of a range: no address spaces, template parameters by number."""
    kept = [tokens.text[index] for index in without_attributes(tokens, *found)]
    words: list[str] = []
    for word in kept:
        if word in _SPACES:
            continue
        canonical = "const" if word == "constant" else names.get(word, word)
        if canonical == "const" and words[-1:] == ["const"]:
            continue
        words.append(canonical)
    return words


def _pointee_first(words: Iterable[str]) -> list[str]:
    """`T const *` as `const T *`."""
    listed = list(words)
    cut = next(
        (index for index, word in enumerate(listed) if word in ("*", "&", "&&")), len(listed)
    )
    pointee = listed[:cut]
    if "const" in pointee:
        pointee = ["const", *(word for word in pointee if word != "const")]
    return pointee + listed[cut:]


def _signature(tokens: Tokens, declaration: Declaration, names: dict[str, str]) -> Words:
    signature: list[str] = [declaration.kind]
    for found in declaration.template or ():
        words = _words(tokens, found, names)
        depth = 0
        for index, word in enumerate(words):
            depth += (word == "<") - (word == ">")
            if word == "=" and depth <= 0 and words[0] in ("typename", "class"):
                words = words[:index]
                break
        signature += [*words, ","]
    if declaration.name_arguments:
        signature += ["<", *_words(tokens, declaration.name_arguments, names), ">"]
    if declaration.parameters is None:
        return tuple(signature)
    result = _words(tokens, (declaration.head, declaration.name_index), names)
    signature += [word for word in result if word not in _SPECIFIERS]
    for parameter in parameters_of(tokens, declaration.parameters[0]):
        words = [word for word in parameter.tokens if word not in _SPACES]
        words = ["const" if word == "constant" else names.get(word, word) for word in words]
        words = [word for word in words if word != parameter.name]
        signature += [",", *_pointee_first(dict.fromkeys(words) if "const" in words else words)]
    after = declaration.parameters[1] + 1
    while after < declaration.last and tokens.text[after] in (
        *_SPACES,
        "constant",
        "const",
        "&",
        "&&",
    ):
        after += 1
    if is_constructor(declaration):
        return (*signature, ")")
    return (*signature, ")", *_words(tokens, (declaration.parameters[1] + 1, after), names))


def is_constructor(declaration: Declaration) -> bool:
    """Whether a function is a constructor: `const` would not be allowed behind its parameters."""
    return declaration.in_record and declaration.scope[-1].split("@")[0] == declaration.name


def constructor_qualifiers(tokens: Tokens, declared: list[Declaration]) -> list[int]:
    """Tokens `constant` behind the parameters of constructors."""
    found = []
    for declaration in every(declared):
        if declaration.parameters and is_constructor(declaration):
            index = declaration.parameters[1] + 1
            while index < declaration.last and tokens.text[index] in (*_SPACES, "constant"):
                if tokens.text[index] == "constant":
                    found.append(index)
                index += 1
    return found


def _content(tokens: Tokens, declaration: Declaration, names: dict[str, str]) -> Words:
    """Everything behind the signature, in canonical spelling."""
    begin = declaration.head
    if declaration.parameters:
        begin = declaration.parameters[1] + 1
    elif declaration.name_arguments:
        begin = declaration.name_arguments[1] + 1
    words = tuple(_words(tokens, (begin, declaration.last), names))
    words = tuple(word for word in words if word != "const")
    return ("{", "}") if words == ("=", "default", ";") else words
