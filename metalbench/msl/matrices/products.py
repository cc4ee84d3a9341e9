"""Which products of 8 x 8 matrices are one instruction together.

A tensor core multiplies 16 x 16 by 16 x 8 elements of two bytes, or 16 x 8 by 8 x 8 of four. So two
sums over one right matrix, of which each has two products in a row, go together: of halves four
products of 8 x 8 in one instruction.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from metalbench.msl.matrices.text import NAME, Line

_CALL = re.compile(
    rf"\s*({NAME}) = [^\n]*call (?:\w+ )*?(%\S+|\{{ float, float \}}) "
    rf"@mb_add_(halves|bfloats|floats)\(([^\n]*?)\)(?: #|, !|$)"
)
_PART = re.compile(rf"\s*({NAME}) = extractvalue [^\n]*?({NAME}), ([01])(?:, !|$)")
CALLED = re.compile(r"call [^\n]*@mb_add_(?:halves|bfloats|floats)\(")


@dataclass(frozen=True)
class Product:
    """Of matrices of these `elements`, added to `sums`: a pair of floats of this `type`.

    A lane has a word of a matrix of halves or of bfloats, and four of one of floats.
    """

    result: str
    type: str
    elements: str
    sums: tuple[str, str]
    left: tuple[str, ...]
    right: tuple[str, ...]


@dataclass(frozen=True)
class Chain:
    """Products added one after the other, of which only the last sum is wanted.

    `parts` are the floats that they hand on.
    """

    products: tuple[Product, ...]
    parts: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """Chains of the same key have the same right matrices."""
        words = (word for each in self.products for word in each.right)
        return (self.products[0].elements, *words)

    @property
    def members(self) -> tuple[str, ...]:
        """All values that only the chain knows, and its result."""
        return (*(each.result for each in self.products), *self.parts)


def product_of(line: Line) -> Product | None:
    """The product that a call stands for."""
    call = _CALL.match(line.text)
    if call is None:
        return None
    result, kind, elements, given = call.groups()
    x, y, *words = (each.rpartition(" ")[2] for each in given.split(", "))
    half = len(words) // 2
    return Product(result, kind, elements, (x, y), tuple(words[:half]), tuple(words[half:]))


def chains(lines: Iterable[Line], uses: Counter[str]) -> list[Chain]:
    """The chains of a block."""
    parts: dict[str, tuple[str, str]] = {}
    found: dict[str, Chain] = {}
    for line in lines:
        if part := _PART.match(line.text):
            parts[part[1]] = (part[2], part[3])
        each = product_of(line)
        if each is None:
            continue
        before = found.get(_origin(each, parts, uses))
        if before and before.products[0].elements == each.elements:
            del found[before.products[-1].result]
            found[each.result] = Chain((*before.products, each), (*before.parts, *each.sums))
        else:
            found[each.result] = Chain((each,))
    return list(found.values())


def _origin(product: Product, parts: Mapping[str, tuple[str, str]], uses: Counter[str]) -> str:
    """The product whose sums this one takes, if nobody else does."""
    x, y = (parts.get(each, ("", "")) for each in product.sums)
    alone = uses[product.sums[0]] == uses[product.sums[1]] == 1 and uses[x[0]] == 2
    return x[0] if alone and x == (y[0], "0") and y == (x[0], "1") else ""


def pairs(found: Sequence[Chain]) -> list[tuple[Chain, ...]]:
    """Chains by twos, as far as they go together."""
    waiting: dict[tuple[str, ...], Chain] = {}
    together: list[tuple[Chain, ...]] = []
    for chain in found:
        other = waiting.pop(chain.key, None)
        if other is None:
            waiting[chain.key] = chain
        else:
            together.append((other, chain))
    return together + [(chain,) for chain in waiting.values()]
