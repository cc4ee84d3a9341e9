"""Where code asks whether a value is a number at all, which fast math may take for granted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from metalbench.msl.reading.declarations import Declaration
from metalbench.msl.reading.program import Source
from metalbench.msl.reading.tokens import Location, Tokens, is_name

_FUNCTIONS = frozenset({"isnan", "isinf", "isfinite", "isnormal", "isordered", "isunordered"})
# What an operand of == may stand between; anything else binds it to more than itself.
_BEFORE = frozenset({"(", "{", "[", ",", ";", "=", "?", ":", "&&", "||", "!", "return"})
_AFTER = frozenset({")", "}", "]", ",", ";", "?", ":", "&&", "||"})


def find_nan_tests(source: Source, function: str) -> Iterator[tuple[Location, str]]:
    """Places and texts of such tests in a kernel and what it calls, in the order of the file.

    They are calls of `isnan` and its like, and comparisons of a value with itself.
    """
    kernel = source.find_entry_point(function)
    roots = {kernel.primary.name, *re.findall(r"\w+", kernel.expression)}
    roots.update(name for name in source.declarations_by_name if name.startswith("operator"))
    reached = source.references.find_reachable(roots)
    found = (each for name in reached for each in source.declarations_by_name.get(name, ()))
    own = {name for name in _FUNCTIONS if name in source.declarations_by_name}
    for index in sorted(set(_indices(source.tokens, found, _FUNCTIONS - own))):
        yield source.tokens.locate_token(index), _text(source.tokens, index)


def _indices(
    tokens: Tokens, declared: Iterable[Declaration], functions: frozenset[str]
) -> Iterator[int]:
    for declaration in declared:
        if declaration.body is None:
            continue
        for index in range(*declaration.body):
            word = tokens.text[index]
            called = word in functions and tokens.at(index + 1) == "("
            if called or (word in ("==", "!=") and _operand(tokens, index)):
                yield index


def _operand(tokens: Tokens, index: int) -> list[str]:
    """What stands on both sides of a comparison, if it is the same; else nothing."""
    last = index + 1
    while tokens.at(last) and tokens.at(last) not in _AFTER:
        last = tokens.partner[last] + 1 if tokens.text[last] in "([{" else last + 1
    right = tokens.text[index + 1 : last]
    first = index - len(right)
    left = tokens.text[max(first, 0) : index]
    is_value = bool(right) and (is_name(right[0]) or right[0] == "(")
    return right if is_value and left == right and tokens.at(first - 1) in _BEFORE else []


def _text(tokens: Tokens, index: int) -> str:
    operand = "".join(_operand(tokens, index))
    return f"{operand} {tokens.text[index]} {operand}" if operand else tokens.text[index]
