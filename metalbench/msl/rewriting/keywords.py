"""Rewrites that need one look at each token: address spaces, attributes, literals, swizzles."""

from __future__ import annotations

import re

from metalbench.msl.reading.attributes import opens_attribute
from metalbench.msl.reading.tokens import Tokens, is_name
from metalbench.msl.rewriting.edits import Edits
from metalbench.msl.rewriting.literals import rewrite_literals

ERASED = frozenset({"device", "thread", "threadgroup", "ray_data", "object_data", "kernel"})
_OPERATORS = frozenset(
    {"and", "or", "xor", "bitand", "bitor", "not_eq", "and_eq", "or_eq", "xor_eq"}
)
_SWIZZLE = re.compile(r"[xyzw]{2,4}|[rgba]{1,4}")
_MEMBER = {letter: "xyzw"[index % 4] for index, letter in enumerate("xyzwrgba")}


def rewrite_keywords(tokens: Tokens, edits: Edits) -> None:
    """Erase address spaces and attributes; `constant` becomes `const`, 1.0 becomes 1.0f."""
    places = tokens.places
    for word in ERASED:
        for index in places.get(word, ()):
            edits.blank(tokens.start[index], tokens.end(index))
    for index in places.get("constant", ()):
        _constant(tokens, edits, index)
    for index in places.get("extern", ()):
        # `extern "C"` of one declaration; a kernel is static.
        if tokens.at(index + 1)[:1] == '"' and tokens.at(index + 2) != "{":
            edits.blank(tokens.start[index], tokens.end(index + 1))
    for index in places.get("coherent", ()):
        _coherent(tokens, edits, index)
    _deduced_arrays(tokens, edits)
    for index in places.get("[", ()):
        if opens_attribute(tokens, index):
            edits.blank(tokens.start[index], tokens.end(tokens.partner[index]))
    rewrite_literals(tokens, edits)


def _deduced_arrays(tokens: Tokens, edits: Edits) -> None:
    """`array a = {1, 2}`: what is deduced here is a class, and mb/array.h makes array an alias."""
    found = tokens.places.get("array", ())
    if any(tokens.text[index - 1] in ("struct", "class") for index in found):
        return
    for index in found:
        following = tokens.at(index + 1)
        if is_name(following) and following not in _OPERATORS:
            edits.replace(tokens.start[index], tokens.end(index), "mb_array")


def _constant(tokens: Tokens, edits: Edits, index: int) -> None:
    around = (tokens.text[index - 1] if index else "", *tokens.text[index + 1 : index + 2])
    word = " " * 8 if "const" in around else "const   "
    edits.replace(tokens.start[index], tokens.end(index), word)


def _coherent(tokens: Tokens, edits: Edits, index: int) -> None:
    following = tokens.text[index + 1 : index + 3]
    if following[:1] == ["device"]:
        edits.blank(tokens.start[index], tokens.end(index))
    elif (
        following[:1] == ["("]
        and tokens.partner[index + 1] > 0
        and following[1:]
        in (
            ["device"],
            ["threadgroup"],
            ["system"],
            ["simdgroup"],
        )
    ):
        edits.replace(tokens.start[index], tokens.end(tokens.partner[index + 1]), " ")


def swizzle_macros(tokens: Tokens) -> str:
    """The MB_SWIZZLES_* macros (mb/swizzle.h) for the swizzles that the source mentions."""
    used = {
        name
        for name, indices in tokens.places.items()
        if _SWIZZLE.fullmatch(name)
        and any(tokens.text[index - 1] in (".", "->") for index in indices if index)
    }
    lines = []
    for size in (2, 3, 4):
        entries = []
        for name in sorted(used):
            members = [_MEMBER[letter] for letter in name]
            if all(member in "xyzw"[:size] for member in members):
                kind = "P" if len(set(members)) == len(members) else "R"
                entries.append(f"MB_{kind}{len(name)}({','.join([name, *members])})")
        lines.append(f"#define MB_SWIZZLES_{size} {' '.join(entries)}\n")
    return "".join(lines)
