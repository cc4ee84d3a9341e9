"""Address spaces as clang's attributes, for sources in which they decide what is called.

Elsewhere they are erased. Clang has such spaces for SYCL: pointers and references to each of them
convert to unqualified ones, never to one another, and code for the processor is the same for all.
`thread` has none: that is the unqualified space, where the local variables are.
"""

from __future__ import annotations

from collections.abc import Iterable

from metalbench.msl.reading.attributes import is_attribute_start
from metalbench.msl.reading.tokens import Tokens, is_name
from metalbench.msl.rewriting.edits import Edits

SPACES = frozenset({"device", "constant", "thread", "threadgroup", "ray_data", "object_data"})
# Those that sources with address spaces have no attribute for.
WITHOUT_ATTRIBUTE = frozenset({"thread", "ray_data", "object_data"})
ATTRIBUTES = {
    "device": "__attribute__((opencl_global_device))",
    "constant": "const __attribute__((opencl_global_host))",
    "threadgroup": "__attribute__((opencl_local))",
}
_QUALIFIERS = frozenset({"const", "volatile", "&", "&&", *SPACES})
_ENDS = frozenset({"{", ":", ";", "=", "->", "noexcept"})


def rewrite_address_spaces(tokens: Tokens, edits: Edits, parameters: Iterable[int]) -> None:
    """Attributes instead of address spaces; those of functions themselves go.

    `parameters` are the opening brackets of all functions' parameters.
    """
    for opening in parameters:
        for first, last in tokens.split(opening + 1, tokens.partner[opening]):
            _rewrite_array(tokens, edits, first, last)
    for word, attribute in ATTRIBUTES.items():
        for index in tokens.occurrences.get(word, ()):
            if is_function_qualifier(tokens, index):
                edits.blank(tokens.start[index], tokens.end(index))
            else:
                edits.replace(tokens.start[index], tokens.end(index), attribute)


def _rewrite_array(tokens: Tokens, edits: Edits, first: int, last: int) -> None:
    """`constant int a[2]` as `constant int (*a)`: no parameter itself has a space."""
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
    """Behind the qualifiers of a function, which begin at `index`."""
    while tokens.at(index) in _QUALIFIERS:
        index += 1
    return index


def is_function_qualifier(tokens: Tokens, index: int) -> bool:
    """Whether a space stands behind the parameters of a function, for the object itself."""
    first = index
    while first > 0 and tokens.text[first] in _QUALIFIERS:
        first -= 1
    return tokens.text[first] == ")" and tokens.at(skip_qualifiers(tokens, index)) in _ENDS
