"""Find attributes such as `[[buffer(2), function_constant(x)]]` in a token sequence."""

from __future__ import annotations

from typing import NamedTuple

from metalbench.msl.reading.tokens import Tokens, is_name


class Attribute(NamedTuple):
    """One attribute, with the token range of its arguments: empty if it has no parentheses."""

    name: str
    first: int
    last: int


def is_attribute_start(tokens: Tokens, index: int) -> bool:
    """Return whether token `index` is the first `[` of `[[...]]`."""
    text = tokens.text
    if text[index] != "[" or index + 1 >= len(text) or text[index + 1] != "[":
        return False
    close = tokens.partner[index]
    return close > 0 and tokens.partner[index + 1] == close - 1


def find_attributes(tokens: Tokens, first: int, last: int) -> list[Attribute]:
    """Return all attributes at the top nesting level of tokens [first, last)."""
    found: list[Attribute] = []
    index = first
    while index < last:
        if is_attribute_start(tokens, index):
            close = tokens.partner[index]
            for begin, end in tokens.split(index + 2, close - 1):
                found.append(_parse_attribute(tokens, begin, end))
            index = close
        elif tokens.text[index] in "({" and tokens.partner[index] > index:
            index = tokens.partner[index]
        index += 1
    return found


def _parse_attribute(tokens: Tokens, first: int, last: int) -> Attribute:
    """Return one attribute. A scope such as `clang::` is part of its name."""
    index = first
    while index < last and (is_name(tokens.text[index]) or tokens.text[index] == "::"):
        index += 1
    name = "".join(tokens.text[first:index])
    if index < last and tokens.text[index] == "(":
        return Attribute(name, index + 1, tokens.partner[index])
    return Attribute(name, index, index)


def skip_attributes(tokens: Tokens, first: int, last: int) -> list[int]:
    """Return the indices of the tokens in [first, last) that are not part of an attribute."""
    if "[" not in tokens.text[first:last]:
        return list(range(first, last))
    kept: list[int] = []
    index = first
    while index < last:
        if is_attribute_start(tokens, index):
            index = tokens.partner[index] + 1
            continue
        kept.append(index)
        index += 1
    return kept
