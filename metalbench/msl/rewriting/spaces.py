"""Rewrite address spaces to clang's attributes, for sources in which they select overloads.

In other sources they are erased. Clang has these address spaces for SYCL: pointers and references
to each of them convert to unqualified ones, never to one another, and the generated code is the
same. `thread` has no attribute: it is the unqualified space of local variables.
"""

from __future__ import annotations

from collections.abc import Iterable

from metalbench.msl.reading.attributes import is_attribute_start
from metalbench.msl.reading.tokens import Tokens, is_name
from metalbench.msl.rewriting.edits import Edits

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
