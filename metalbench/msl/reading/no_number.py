"""Find tests for NaN and infinity in a kernel: fast math may assume that they are false."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from metalbench.msl.reading.declarations import Declaration
from metalbench.msl.reading.program import Source
from metalbench.msl.reading.tokens import Location, Tokens, is_name

_FUNCTIONS = frozenset({"isnan", "isinf", "isfinite", "isnormal", "isordered", "isunordered"})
# Tokens that may precede or follow an operand of ==. Other tokens extend the operand.
_BEFORE = frozenset({"(", "{", "[", ",", ";", "=", "?", ":", "&&", "||", "!", "return"})
_AFTER = frozenset({")", "}", "]", ",", ";", "?", ":", "&&", "||"})


def find_nan_tests(source: Source, function: str) -> Iterator[tuple[Location, str]]:
    """Yield location and text of each such test in a kernel and its callees, in source order.

    Tests are calls of `isnan` and its relatives, and comparisons of a value with itself.
    """
    kernel = source.find_entry_point(function)
    roots = {kernel.primary.name, *re.findall(r"\w+", kernel.expression)}
    roots.update(name for name in source.declarations_by_name if name.startswith("operator"))
    reached = source.references.find_reachable(roots)
    found = (each for name in reached for each in source.declarations_by_name.get(name, ()))
    own = {name for name in _FUNCTIONS if name in source.declarations_by_name}
    for index in sorted(set(_find_test_tokens(source.tokens, found, _FUNCTIONS - own))):
        yield source.tokens.locate_token(index), _format_test(source.tokens, index)


def _find_test_tokens(
    tokens: Tokens, declared: Iterable[Declaration], functions: frozenset[str]
) -> Iterator[int]:
    for declaration in declared:
        if declaration.body is None:
            continue
        for index in range(*declaration.body):
            word = tokens.text[index]
            called = word in functions and tokens.at(index + 1) == "("
            if called or (word in ("==", "!=") and _find_equal_operands(tokens, index)):
                yield index


def _find_equal_operands(tokens: Tokens, index: int) -> list[str]:
    """Return the tokens of an operand of == or !=, if both operands are the same; else nothing."""
    last = index + 1
    while tokens.at(last) and tokens.at(last) not in _AFTER:
        last = tokens.partner[last] + 1 if tokens.text[last] in "([{" else last + 1
    right = tokens.text[index + 1 : last]
    first = index - len(right)
    left = tokens.text[max(first, 0) : index]
    is_value = bool(right) and (is_name(right[0]) or right[0] == "(")
    return right if is_value and left == right and tokens.at(first - 1) in _BEFORE else []


def _format_test(tokens: Tokens, index: int) -> str:
    operand = "".join(_find_equal_operands(tokens, index))
    return f"{operand} {tokens.text[index]} {operand}" if operand else tokens.text[index]
