"""Rewrite single tokens: address spaces, attributes, literals, swizzles.

Clang does not see the words that are erased here. All of them are keywords of Metal, so their use
as identifiers is an error. `threadgroup` and `device` need more context: `threadgroup.py` has
checked them.
"""

from __future__ import annotations

import re

from metalbench._core import CompileError
from metalbench.msl.reading.attributes import is_attribute_start
from metalbench.msl.reading.tokens import Tokens, is_name
from metalbench.msl.rewriting.edits import Edits
from metalbench.msl.rewriting.literals import rewrite_literals
from metalbench.msl.rewriting.spaces import is_function_qualifier

ERASED = frozenset({"device", "thread", "threadgroup", "ray_data", "object_data", "kernel"})
# Attributes that change a type. The compiler may ignore all others, or they are Metal's attributes,
# which reflection has read.
_TYPE_ATTRIBUTES = frozenset({"aligned", "packed", "vector_size", "ext_vector_type", "may_alias"})
_OPERATOR_WORDS = frozenset(
    {"and", "or", "xor", "bitand", "bitor", "not_eq", "and_eq", "or_eq", "xor_eq"}
)
_SWIZZLE = re.compile(r"[xyzw]{2,4}|[rgba]{1,4}")
_MEMBER = {letter: "xyzw"[index % 4] for index, letter in enumerate("xyzwrgba")}


def rewrite_keywords(tokens: Tokens, edits: Edits) -> None:
    """Erase address spaces and attributes. `constant` becomes `const`, 1.0 becomes 1.0f."""
    places = tokens.occurrences
    for word in ERASED:
        for index in places.get(word, ()):
            if word not in ("device", "threadgroup"):
                _check_keyword(tokens, index)
            edits.blank(tokens.start[index], tokens.end(index))
    for index in places.get("constant", ()):
        _rewrite_constant(tokens, edits, index)
    for index in places.get("extern", ()):
        # `extern "C"` of one declaration; a kernel is static.
        if tokens.at(index + 1)[:1] == '"' and tokens.at(index + 2) != "{":
            edits.blank(tokens.start[index], tokens.end(index + 1))
    for index in places.get("coherent", ()):
        _rewrite_coherent(tokens, edits, index)
    _rewrite_deduced_arrays(tokens, edits)
    for index in places.get("[", ()):
        if is_attribute_start(tokens, index):
            _rewrite_attribute(tokens, edits, index)
    rewrite_literals(tokens, edits)


def _check_keyword(tokens: Tokens, index: int) -> None:
    """Raise CompileError if a keyword that is erased is used as an identifier."""
    word, following = tokens.text[index], tokens.at(index + 1)
    before = tokens.text[index - 1] if index else ""
    if is_name(following) or following == "::" or _is_in_attribute(tokens, index):
        return
    if following == "[" and is_attribute_start(tokens, index + 1):
        return
    if word != "kernel":
        behind = tokens.at(index + 2) if following == "(" else following
        is_pointee = behind in ("*", "&", "&&")
        is_argument = following in (",", ">") and before not in ("=", "(", ",")
        if is_pointee or is_argument or is_function_qualifier(tokens, index):
            return
    expected = "the type of a function" if word == "kernel" else "a type"
    raise CompileError(
        f"{tokens.locate_token(index)}: error: `{word}` is a keyword of Metal: expected "
        f"{expected} behind it, got `{following}`; give a variable of that name another one"
    )


def _is_in_attribute(tokens: Tokens, index: int) -> bool:
    """Return whether a token is a whole attribute of `[[...]]`."""
    return (
        index > 1
        and tokens.text[index - 1] in ("[", ",")
        and tokens.at(index + 1) in ("]", ",")
        and any(
            is_attribute_start(tokens, each)
            for each in tokens.occurrences.get("[", ())
            if each < index < tokens.partner[each]
        )
    )


def _rewrite_attribute(tokens: Tokens, edits: Edits, index: int) -> None:
    """Erase `[[...]]` except for attributes that change a type."""
    close = tokens.partner[index]
    listed = list(tokens.split(index + 2, close - 1))
    kept = [
        tokens.join(*each)
        for each in listed
        if tokens.at(each[0] + 1) == "::" and tokens.at(each[0] + 2).strip("_") in _TYPE_ATTRIBUTES
    ]
    if not kept:
        edits.blank(tokens.start[index], tokens.end(close))
    elif len(kept) < len(listed):
        edits.replace(tokens.start[index], tokens.end(close), f"[[{', '.join(kept)}]]")


def _rewrite_deduced_arrays(tokens: Tokens, edits: Edits) -> None:
    """Rewrite `array a = {1, 2}`: deduction needs a class, and mb/array.h makes array an alias."""
    found = tokens.occurrences.get("array", ())
    if any(tokens.text[index - 1] in ("struct", "class") for index in found):
        return
    for index in found:
        following = tokens.at(index + 1)
        if is_name(following) and following not in _OPERATOR_WORDS:
            edits.replace(tokens.start[index], tokens.end(index), "mb_array")


def _rewrite_constant(tokens: Tokens, edits: Edits, index: int) -> None:
    around = (tokens.text[index - 1] if index else "", *tokens.text[index + 1 : index + 2])
    word = " " * 8 if "const" in around else "const   "
    edits.replace(tokens.start[index], tokens.end(index), word)


def _rewrite_coherent(tokens: Tokens, edits: Edits, index: int) -> None:
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


def define_swizzles(tokens: Tokens) -> str:
    """Return the MB_SWIZZLES_* macros (mb/swizzle.h) for the swizzles that the source uses."""
    used = {
        name
        for name, indices in tokens.occurrences.items()
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
