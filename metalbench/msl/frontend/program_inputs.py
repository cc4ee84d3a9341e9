"""Pass inputs that are declared at program scope as parameters of the functions that use them.

`uint2 gid [[thread_position_in_grid]];` at program scope is an input of every kernel that uses it,
directly or in a function that it calls. So is `device float* constant x [[buffer(0)]];`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from metalbench.msl.frontend.declarations import (
    Declaration,
    iterate_declarations,
    skip_attributes,
)
from metalbench.msl.frontend.edits import Edits
from metalbench.msl.frontend.reflection import THREAD_ATTRIBUTES, find_stage
from metalbench.msl.frontend.source import Source
from metalbench.msl.frontend.tokens import Tokens, find_closing_angle, is_name

_BINDINGS = frozenset({"buffer", "texture", "sampler"})
_BEFORE_EXPRESSION = frozenset({"return", "case", "else", "do", "and", "or", "not"})


class _Input(NamedTuple):
    """An input at program scope: its name, and its declaration without and with attributes."""

    name: str
    type: str
    plain: str
    attributed: str
    declaration: Declaration


def pass_program_inputs(source: Source) -> str:
    """Return the preprocessed text with such inputs as parameters. Lines stay where they are."""
    tokens = source.tokens
    found = list(_find_inputs(source))
    if not found:
        return source.expanded
    edits = Edits(tokens.source)
    for each in found:
        edits.blank(tokens.start[each.declaration.first], tokens.end(each.declaration.last - 1))
    functions = [
        each for each in iterate_declarations(source.declarations) if each.kind == "function"
    ]
    users = {each.name: _find_users(tokens, functions, each.name) for each in found}
    for function in functions:
        assert function.parameters is not None
        is_kernel = find_stage(tokens, function) == "kernel"
        needed = [each for each in found if function.name in users[each.name]]
        needed = [each for each in needed if not _declares(tokens, function, each.name)]
        texts = [each.attributed if is_kernel else each.plain for each in needed]
        _prepend(tokens, edits, function.parameters[0], texts)
    for declaration in source.declarations:
        closing = declaration.last - 2
        if declaration.kind == "instantiation" and tokens.text[closing] == ")":
            opening = tokens.partner[closing]
            words = tokens.text[declaration.first : opening]
            if words[-1] != "decltype":
                texts = [each.type for each in found if users[each.name].intersection(words)]
                _prepend(tokens, edits, opening, texts)
    declared = {function.name_index for function in functions}
    for name in set().union(*users.values()):
        for index in tokens.occurrences.get(name, ()):
            opening = _find_call(tokens, index)
            if opening > 0 and index not in declared and _is_in_body(functions, index):
                _prepend(
                    tokens,
                    edits,
                    opening,
                    [each.name for each in found if name in users[each.name]],
                )
    return edits.apply()


def _find_inputs(source: Source) -> Iterator[_Input]:
    tokens = source.tokens
    for declaration in source.declarations:
        if declaration.kind != "variable" or not declaration.name:
            continue
        for attribute in declaration.attributes:
            if attribute.name in THREAD_ATTRIBUTES or attribute.name in _BINDINGS:
                kept = skip_attributes(tokens, declaration.head, declaration.name_index)
                words = [tokens.text[each] for each in kept]
                if not words:  # without a type, which clang reports
                    break
                if words[-1] == "constant":  # the pointer itself is in constant memory
                    words.pop()
                text = " ".join(word for word in words if word != "static")
                plain = f"{text} {declaration.name}"
                arguments = tokens.join(attribute.first, attribute.last)
                suffix = f"[[{attribute.name}{f'({arguments})' if arguments else ''}]]"
                yield _Input(declaration.name, text, plain, f"{plain} {suffix}", declaration)
                break


def _find_users(tokens: Tokens, functions: list[Declaration], name: str) -> set[str]:
    """Return the names of the functions that use an input, or call such a function."""
    users: set[str] = set()
    direct = tokens.occurrences.get(name, [])
    for function in functions:
        if function.body and not _declares(tokens, function, name):
            opening, closing = function.body
            if any(
                opening < index < closing and tokens.text[index - 1] not in (".", "->", "::")
                for index in direct
            ):
                users.add(function.name)
    waiting = list(users)
    while waiting:
        callee = waiting.pop()
        calls = [i for i in tokens.occurrences.get(callee, ()) if _find_call(tokens, i) > 0]
        for function in functions:
            if not function.body or function.name in users:
                continue
            opening, closing = function.body
            if any(opening < index < closing for index in calls):
                users.add(function.name)
                waiting.append(function.name)
    return users


def _declares(tokens: Tokens, function: Declaration, name: str) -> bool:
    """Return whether a function has a parameter or a local variable of this name."""
    assert function.parameters is not None
    for index in tokens.occurrences.get(name, ()):
        if function.parameters[0] < index < function.last:
            before = tokens.text[index - 1]
            is_type = is_name(before) and before not in _BEFORE_EXPRESSION
            if is_type or (index < function.parameters[1] and before in ("*", "&", ">")):
                return True
    return False


def _find_call(tokens: Tokens, index: int) -> int:
    """Return the opening parenthesis of the call of the name at a token, or -1."""
    at = index + 1
    if tokens.at(at) == "<":
        at = find_closing_angle(tokens, at, len(tokens)) + 1
    return at if at > index and tokens.at(at) == "(" else -1


def _is_in_body(functions: list[Declaration], index: int) -> bool:
    return any(each.body and each.body[0] < index < each.body[1] for each in functions)


def _prepend(tokens: Tokens, edits: Edits, opening: int, texts: list[str]) -> None:
    """Insert these at the begin of a list of parameters or arguments."""
    if not texts:
        return
    first, closing = opening + 1, tokens.partner[opening]
    if tokens.text[first:closing] == ["void"]:
        edits.blank(tokens.start[first], tokens.end(first))
        first = closing
    edits.insert(tokens.end(opening), ", ".join(texts) + (", " if first < closing else ""))
