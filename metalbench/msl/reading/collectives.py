"""Decide which kernels synchronise: those that can reach a barrier or a SIMD-group function."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain

from metalbench.msl.reading.declarations import Declaration, iterate_declarations
from metalbench.msl.reading.tokens import Tokens

_COLLECTIVE_NAME = re.compile(
    r"(?:threadgroup|simdgroup|quadgroup)_barrier|__metal_(?:simd|quad|wg)\w*"
    r"|(?:simd|quad)_(?:all|any|ballot|sum|product|min|max|and|or|xor|is_first|is_helper_thread"
    r"|active_threads_mask|broadcast(?:_first)?|prefix_\w+|shuffle\w*|vote)"
    r"|simdgroup_(?:matrix|load|store|multiply\w*|async_copy\w*|event|(?:float|half|bfloat)8x8)"
    r"|make_filled_simdgroup_matrix|mpp|tensor_ops"
)


def is_collective(name: str) -> bool:
    """Return whether a name is a barrier, or a function or type for a SIMD-group or quad-group."""
    return _COLLECTIVE_NAME.fullmatch(name) is not None


_ALIASES = frozenset({"using", "typedef"})


class References:
    """The names that each declaration of a source mentions: a call graph by name."""

    def __init__(self, tokens: Tokens, declared: Iterable[Declaration]) -> None:
        self.tokens = tokens
        self._mentions: dict[str, set[str]] = {}
        for declaration in iterate_declarations(list(declared)):
            if declaration.kind == "instantiation":
                continue
            words = set(filter(str.isidentifier, tokens.text[declaration.first : declaration.last]))
            for name in _find_declared_names(tokens, declaration):
                self._mentions.setdefault(name, set()).update(words)

    def __contains__(self, name: str) -> bool:
        return name in self._mentions

    def find_reachable(self, roots: Iterable[str]) -> set[str]:
        """Return every name that code reachable from `roots` mentions, including `roots`."""
        seen: set[str] = set()
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting.extend(self._mentions.get(name, set()) - seen)
        return seen


def _find_declared_names(tokens: Tokens, declaration: Declaration) -> list[str]:
    """Return the names that a declaration introduces."""
    if declaration.kind != "alias":
        if declaration.kind == "record" and tokens.text[declaration.last - 2] != "}":
            return [declaration.name, tokens.text[declaration.last - 2]]
        return [declaration.name] if declaration.name else []
    words = tokens.text[declaration.head : declaration.last]
    if words[0] == "using" and "=" in words:
        return [words[1]]
    return [words[-2]] if words[0] == "typedef" and len(words) > 2 else []


def requires_fibers(
    tokens: Tokens, declared: Mapping[str, list[Declaration]], reached: set[str]
) -> bool:
    """Return whether a kernel that reaches these names must run its threads concurrently.

    Barriers and SIMD-group functions need that, and so does a loop that polls an atomic variable.
    """
    if any(map(is_collective, reached)):
        return True
    if "atomic_load_explicit" not in reached:
        return False
    found = chain.from_iterable(declared.get(name, ()) for name in reached)
    return any(_waits(tokens, declaration) for declaration in found)


def _waits(tokens: Tokens, declaration: Declaration) -> bool:
    words = tokens.text[declaration.first : declaration.last]
    return "while" in words and "atomic_load_explicit" in words
