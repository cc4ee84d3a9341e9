"""Rewrites that need one look at each token: address spaces, attributes, literals, swizzles."""

from __future__ import annotations

import re

from metalbench.msl.angles import close_angle
from metalbench.msl.attributes import opens_attribute
from metalbench.msl.edits import Edits
from metalbench.msl.tokens import Tokens

ERASED = frozenset({"device", "thread", "threadgroup", "ray_data", "object_data", "kernel"})
_SUFFIXED = re.compile(
    r"(?!0[xX](?![^pP]*[pP]))((?:\d[\d']*\.?[\d']*|\.\d[\d']*|0[xX][^pP]*[pP])(?:[eE]?[+-]?\d+)?)(h|H|bf|BF)"
)
_HALF = frozenset({"half", "float16_t", "half2", "half3", "half4"})
_BFLOAT = frozenset({"bfloat", "bfloat16_t", "bfloat2", "bfloat3", "bfloat4"})
_SWIZZLE = re.compile(r"[xyzw]{2,4}|[rgba]{1,4}")
_MEMBER = {letter: "xyzw"[index % 4] for index, letter in enumerate("xyzwrgba")}


def rewrite_keywords(tokens: Tokens, edits: Edits) -> None:
    """Erase address spaces and attributes; `constant` becomes `const`, 1.0h becomes half(1.0)."""
    text, start = tokens.text, tokens.start
    skip = -1
    for index, token in enumerate(text):
        if index < skip:
            continue
        if token in ERASED:
            edits.blank(start[index], tokens.end(index))
        elif token == "constant":
            _constant(tokens, edits, index)
        elif token == "[" and opens_attribute(tokens, index):
            skip = tokens.partner[index] + 1
            edits.blank(start[index], tokens.end(skip - 1))
        elif token == "coherent":
            _coherent(tokens, edits, index)
        elif token[-1] in "hHfF" and token[0] in ".0123456789":
            _literal(tokens, edits, index)


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


def _literal(tokens: Tokens, edits: Edits, index: int) -> None:
    literal = _SUFFIXED.fullmatch(tokens.text[index])
    if literal:
        kind = "half" if literal[2] in "hH" else "bfloat"
        digits = literal[1] if re.search(r"[.eEpP]", literal[1]) else literal[1] + "."
        edits.replace(tokens.start[index], tokens.end(index), f"{kind}({digits}f)")


def mixes_half_formats(tokens: Tokens) -> bool:
    """Whether half and bfloat both occur: only then may one be cast to the other."""
    words = set(tokens.text)
    return not words.isdisjoint(_HALF) and not words.isdisjoint(_BFLOAT)


def rewrite_casts(tokens: Tokens, edits: Edits) -> None:
    """`static_cast` to values becomes mb::cast (mb/scalar.h), which knows half from bfloat."""
    for index, token in enumerate(tokens.text):
        if token == "static_cast" and tokens.text[index + 1 : index + 2] == ["<"]:
            close = close_angle(tokens, index + 1, len(tokens))
            value = close > 0 and tokens.text[close - 1] not in ("*", "&", "&&", "void", "const")
            if value:
                edits.replace(tokens.start[index], tokens.end(index), "mb::cast")


def swizzle_macros(tokens: Tokens) -> str:
    """The MB_SWIZZLES_* macros (mb/swizzle.h) for the swizzles that the source mentions."""
    text = tokens.text
    used = {
        text[index]
        for index in range(1, len(text))
        if text[index - 1] in (".", "->") and _SWIZZLE.fullmatch(text[index])
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
