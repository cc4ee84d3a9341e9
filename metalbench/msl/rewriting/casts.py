"""Rewrite casts between half and bfloat to mb::cast: Metal allows them, clang refuses them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalbench.msl.reading.angles import find_closing_angle
from metalbench.msl.reading.declarations import Declaration, iterate_declarations
from metalbench.msl.reading.reflect import split_template_parameter
from metalbench.msl.reading.tokens import Tokens, is_name
from metalbench.msl.rewriting.edits import Edits

_HALF = frozenset({"half", "float16_t", "half2", "half3", "half4"})
_BFLOAT = frozenset({"bfloat", "bfloat16_t", "bfloat2", "bfloat3", "bfloat4"})
_SCALARS = frozenset({"half", "float16_t", "bfloat", "bfloat16_t"})
# After these keywords `(T)` is a cast. After any other name it is an argument list.
_BEFORE_CAST = frozenset({"return", "case", "else", "do"})
_NUMBER = re.compile(r"[.\d']")
_PREFIX = frozenset("-+!~*&") | {"--", "++"}


def has_both_half_formats(tokens: Tokens) -> bool:
    """Return whether half and bfloat both occur. Only then can one be cast to the other."""
    return not (_HALF.isdisjoint(tokens.occurrences) or _BFLOAT.isdisjoint(tokens.occurrences))


def rewrite_casts(
    tokens: Tokens, declared: list[Declaration], aliases: dict[str, str], edits: Edits
) -> None:
    """Rewrite `static_cast<T>(x)`, `T(x)` and `(T)x` to mb::cast<T>(x) (mb/scalar.h).

    T is half, bfloat, an alias of one of them, or a template type parameter.
    """
    for index in tokens.occurrences.get("static_cast", ()):
        if tokens.text[index + 1 : index + 2] == ["<"]:
            close = find_closing_angle(tokens, index + 1, len(tokens))
            value = close > 0 and tokens.text[close - 1] not in ("*", "&", "&&", "void", "const")
            if value:
                edits.replace(tokens.start[index], tokens.end(index), "mb::cast")
    for name in _find_target_types(tokens, declared, aliases):
        for index in tokens.occurrences.get(name, ()):
            _rewrite_cast(tokens, edits, index)


def _find_target_types(
    tokens: Tokens, declared: list[Declaration], aliases: dict[str, str]
) -> Iterator[str]:
    """Yield the names of types that may be half or bfloat."""
    yield from _SCALARS
    yield from (n for n, meant in aliases.items() if meant in _SCALARS and n not in _SCALARS)
    found: dict[str, None] = {}
    others = set(_SCALARS)
    for declaration in iterate_declarations(declared):
        for first, last in declaration.template or ():
            if tokens.text[first] in ("typename", "class") and tokens.text[first + 1] != "...":
                found[split_template_parameter(tokens, first, last)[0]] = None
        others.add(declaration.name)
    yield from (name for name in found if name and name not in others)


def _rewrite_cast(tokens: Tokens, edits: Edits, index: int) -> None:
    """Rewrite the cast to the type that is named at `index`, if there is one."""
    text, partner = tokens.text, tokens.partner
    before, after = text[index - 1 : index], text[index + 1 : index + 2]
    if after == ["("] and before[0] not in (".", "->", "::", "typename", "~", "operator"):
        close = partner[index + 1]
        one = len(list(tokens.split(index + 2, close))) == 1
        odd = text[index + 2] in ("{", "*", "&") or text[close - 1] in ("*", "&", "...")
        if one and not odd and text[close + 1 : close + 2] not in (["["], ["("], ["{"]):
            edits.replace(tokens.start[index], tokens.end(index), f"mb::cast<{text[index]}>")
    elif before == ["("] and after == [")"] and _can_begin_cast(tokens, index - 1):
        last = _find_operand_end(tokens, index + 2)
        if last >= 0:
            start, end = tokens.start[index - 1], tokens.end(index + 1)
            edits.replace(start, end, f"mb::cast<{text[index]}>(")
            edits.insert(tokens.end(last), ")")


def _can_begin_cast(tokens: Tokens, index: int) -> bool:
    """Return whether the parenthesis at `index` may open a cast: no operand precedes it."""
    before = tokens.text[index - 1]
    if is_name(before):
        return before in _BEFORE_CAST
    if before == ")":
        # `(half)(bfloat)x`: the preceding parentheses may be a cast too.
        opened = tokens.partner[index - 1]
        between = tokens.text[opened + 1 : index - 1]
        return bool(between) and all(map(is_name, between)) and _can_begin_cast(tokens, opened)
    return before != "]"


def _find_operand_end(tokens: Tokens, index: int) -> int:
    """Return the last token of a cast's operand that begins at `index`, -1 if there is none."""
    while True:
        while tokens.at(index) in _PREFIX:
            index += 1
        first = tokens.at(index)
        if first == "(":
            index = tokens.partner[index]
        elif not (is_name(first) or _NUMBER.match(first)):
            return -1
        index = _find_postfix_end(tokens, index)
        following = tokens.at(index + 1)
        # `(int)x` and `(f)(x) y`: the parentheses are a cast, and the operand follows.
        if tokens.text[index] != ")" or not (is_name(following) or _NUMBER.match(following)):
            return index
        index += 1


def _find_postfix_end(tokens: Tokens, index: int) -> int:
    """Return the last token of the calls, subscripts and members after the token at `index`."""
    while True:
        following = tokens.at(index + 1)
        if following in ("(", "[") and tokens.partner[index + 1] > 0:
            index = tokens.partner[index + 1]
        elif following in (".", "->", "::"):
            index += 2
        elif following == "<" and is_name(tokens.text[index]):
            close = find_closing_angle(tokens, index + 1, len(tokens))
            if close < 0 or tokens.at(close + 1) not in ("(", "::", "{"):
                return index
            index = close
        elif following in ("++", "--"):
            index += 1
        else:
            return index
