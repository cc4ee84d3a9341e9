"""Rewrite tokens that C++ has otherwise: literals, keywords, casts, swizzles, labels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalbench._core import CompileError
from metalbench.msl.frontend.address_spaces import is_function_qualifier
from metalbench.msl.frontend.declarations import (
    Declaration,
    is_attribute_start,
    iterate_declarations,
)
from metalbench.msl.frontend.edits import Edits
from metalbench.msl.frontend.reflection import split_template_parameter
from metalbench.msl.frontend.tokens import Tokens, find_closing_angle, is_name
from metalbench.msl.frontend.unsupported import (
    ASSEMBLY,
    ATTRIBUTE_SPELLINGS,
    ERASED_ATTRIBUTES,
    LABEL,
    is_asm_label,
)

_FLOAT_LITERAL = re.compile(
    r"""
    (?P<digits>
      0[xX][\da-fA-F']*\.?[\da-fA-F']*[pP][+-]?[\d']+
    | (?:\d[\d']*\.[\d']*|\.\d[\d']*)(?:[eE][+-]?[\d']+)?
    | \d[\d']*[eE][+-]?[\d']+
    | \d[\d']*(?=[hH]|bf|BF)
    )
    (?P<suffix>|h|H|bf|BF|l|L)
    """,
    re.X,
)
_SUFFIX_TYPES = {"h": "half", "bf": "bfloat"}


def rewrite_literals(tokens: Tokens, edits: Edits) -> None:
    """Rewrite `1.5` to `1.5f`, `1.5h` to half(1.5f) and `2bf` to bfloat(2.f).

    A compiler flag for single-precision constants has no effect in templates. `1.5L` becomes 1.5, a
    double: `refuse_double` refuses it in sources that may not have that type.
    """
    for word, indices in tokens.occurrences.items():
        literal = word[0] in ".0123456789" and _FLOAT_LITERAL.fullmatch(word)
        if literal:
            text = _format_float_literal(literal["digits"], literal["suffix"].lower())
            for index in indices:
                edits.replace(tokens.start[index], tokens.end(index), text)


def _format_float_literal(digits: str, suffix: str) -> str:
    if not suffix:
        return f"{digits}f"
    if suffix == "l":
        return digits
    point = "" if re.search(r"[.eEpP]", digits) else "."
    return f"{_SUFFIX_TYPES[suffix]}({digits}{point}f)"


def refuse_double(tokens: Tokens) -> None:
    """Raise CompileError for the first `double` or `long double` literal of a source."""
    places = list(tokens.occurrences.get("double", ()))
    for word, indices in tokens.occurrences.items():
        literal = word[0] in ".0123456789" and _FLOAT_LITERAL.fullmatch(word)
        if literal and literal["suffix"] in ("l", "L"):
            places += indices
    if places:
        first = min(places)
        raise CompileError(
            f"{tokens.locate_token(first)}: error: 'double' is not supported in Metal; "
            f"{tokens.text[first]}: use float, and `f` or no suffix for literals"
        )


# Replace the asm labels of AIR intrinsics by labels of the engine's functions.
#
# The labels of AIR intrinsics encode the address spaces of the arguments. The engine has one
# address space, so declarations that differ only in address spaces must have the same label.


def has_asm_labels(tokens: Tokens) -> bool:
    """Return whether a source declares tile copies (csrc/msl/mb/async_copy.h)."""
    return bool(_find_asm_labels(tokens))


def rewrite_asm_labels(tokens: Tokens, edits: Edits) -> None:
    """Replace each label of an AIR intrinsic by that of the engine's function."""
    for index in _find_asm_labels(tokens):
        label = LABEL.fullmatch(tokens.text[index + 2])
        assert label is not None
        text = f'asm("mb_{label[1] or label[2]}")'
        edits.replace(tokens.start[index], tokens.end(index + 3), text)


def _find_asm_labels(tokens: Tokens) -> list[int]:
    """Return the tokens `asm` that begin a label."""
    indices = (index for word in ASSEMBLY for index in tokens.occurrences.get(word, ()))
    return [index for index in indices if is_asm_label(tokens, index)]


# Rewrite single tokens: address spaces, attributes, literals, swizzles.
#
# Clang does not see the words that are erased here. All of them are keywords of Metal, so their use
# as identifiers is an error. `threadgroup` and `device` need more context: `threadgroup.py` has
# checked them.

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
    for word in ATTRIBUTE_SPELLINGS.intersection(places):
        for index in places[word]:
            _rewrite_gnu_attribute(tokens, edits, index)
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


def _rewrite_gnu_attribute(tokens: Tokens, edits: Edits, index: int) -> None:
    """Erase the `ERASED_ATTRIBUTES` of `__attribute__((...))`."""
    opening = index + 2
    listed = list(tokens.split(opening + 1, tokens.partner[opening]))
    kept = [
        tokens.join(*each)
        for each in listed
        if tokens.text[each[0]].strip("_") not in ERASED_ATTRIBUTES
    ]
    end = tokens.end(tokens.partner[index + 1])
    if not kept:
        edits.blank(tokens.start[index], end)
    elif len(kept) < len(listed):
        edits.replace(tokens.start[index], end, f"__attribute__(({', '.join(kept)}))")


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


# Rewrite casts between half and bfloat to mb::cast: Metal allows them, clang refuses them.

_HALF = frozenset({"half", "float16_t", "half2", "half3", "half4"})
_BFLOAT = frozenset({"bfloat", "bfloat16_t", "bfloat2", "bfloat3", "bfloat4"})
_SCALARS = frozenset({"half", "float16_t", "bfloat", "bfloat16_t"})
# After these keywords `(T)` is a cast. After any other name it is an argument list.
_BEFORE_CAST = frozenset({"return", "case", "else", "do"})
_NUMBER = re.compile(r"[.\d']")
_PREFIX = frozenset("-+!~*&") | {"--", "++"}


def has_both_half_formats(tokens: Tokens) -> bool:
    """Return whether half and bfloat both occur. Only then can one be cast to the other."""
    return not (_HALF.isdisjoint(tokens.occurrences) or _BFLOAT.isdisjoint(tokens.occurrences))


def rewrite_casts(
    tokens: Tokens, declared: list[Declaration], aliases: dict[str, str], edits: Edits
) -> None:
    """Rewrite `static_cast<T>(x)`, `T(x)` and `(T)x` to mb::cast<T>(x) (mb/scalar.h).

    T is half, bfloat, an alias of one of them, or a template type parameter.
    """
    for index in tokens.occurrences.get("static_cast", ()):
        if tokens.text[index + 1 : index + 2] == ["<"]:
            close = find_closing_angle(tokens, index + 1, len(tokens))
            value = close > 0 and tokens.text[close - 1] not in ("*", "&", "&&", "void", "const")
            if value:
                edits.replace(tokens.start[index], tokens.end(index), "mb::cast")
    for name in _find_target_types(tokens, declared, aliases):
        for index in tokens.occurrences.get(name, ()):
            _rewrite_cast(tokens, edits, index)


def _find_target_types(
    tokens: Tokens, declared: list[Declaration], aliases: dict[str, str]
) -> Iterator[str]:
    """Yield the names of types that may be half or bfloat."""
    yield from _SCALARS
    yield from (n for n, meant in aliases.items() if meant in _SCALARS and n not in _SCALARS)
    found: dict[str, None] = {}
    others = set(_SCALARS)
    for declaration in iterate_declarations(declared):
        for first, last in declaration.template or ():
            if tokens.text[first] in ("typename", "class") and tokens.text[first + 1] != "...":
                found[split_template_parameter(tokens, first, last)[0]] = None
        others.add(declaration.name)
    yield from (name for name in found if name and name not in others)


def _rewrite_cast(tokens: Tokens, edits: Edits, index: int) -> None:
    """Rewrite the cast to the type that is named at `index`, if there is one."""
    text, partner = tokens.text, tokens.partner
    before, after = text[index - 1 : index], text[index + 1 : index + 2]
    if after == ["("] and before[0] not in (".", "->", "::", "typename", "~", "operator"):
        close = partner[index + 1]
        one = len(list(tokens.split(index + 2, close))) == 1
        odd = text[index + 2] in ("{", "*", "&") or text[close - 1] in ("*", "&", "...")
        if one and not odd and text[close + 1 : close + 2] not in (["["], ["("], ["{"]):
            edits.replace(tokens.start[index], tokens.end(index), f"mb::cast<{text[index]}>")
    elif before == ["("] and after == [")"] and _can_begin_cast(tokens, index - 1):
        last = _find_operand_end(tokens, index + 2)
        if last >= 0:
            start, end = tokens.start[index - 1], tokens.end(index + 1)
            edits.replace(start, end, f"mb::cast<{text[index]}>(")
            edits.insert(tokens.end(last), ")")


def _can_begin_cast(tokens: Tokens, index: int) -> bool:
    """Return whether the parenthesis at `index` may open a cast: no operand precedes it."""
    before = tokens.text[index - 1]
    if is_name(before):
        return before in _BEFORE_CAST
    if before == ")":
        # `(half)(bfloat)x`: the preceding parentheses may be a cast too.
        opened = tokens.partner[index - 1]
        between = tokens.text[opened + 1 : index - 1]
        return bool(between) and all(map(is_name, between)) and _can_begin_cast(tokens, opened)
    return before != "]"


def _find_operand_end(tokens: Tokens, index: int) -> int:
    """Return the last token of a cast's operand that begins at `index`, -1 if there is none."""
    while True:
        while tokens.at(index) in _PREFIX:
            index += 1
        first = tokens.at(index)
        if first == "(":
            index = tokens.partner[index]
        elif not (is_name(first) or _NUMBER.match(first)):
            return -1
        index = _find_postfix_end(tokens, index)
        following = tokens.at(index + 1)
        # `(int)x` and `(f)(x) y`: the parentheses are a cast, and the operand follows.
        if tokens.text[index] != ")" or not (is_name(following) or _NUMBER.match(following)):
            return index
        index += 1


def _find_postfix_end(tokens: Tokens, index: int) -> int:
    """Return the last token of the calls, subscripts and members after the token at `index`."""
    while True:
        following = tokens.at(index + 1)
        if following in ("(", "[") and tokens.partner[index + 1] > 0:
            index = tokens.partner[index + 1]
        elif following in (".", "->", "::"):
            index += 2
        elif following == "<" and is_name(tokens.text[index]):
            close = find_closing_angle(tokens, index + 1, len(tokens))
            if close < 0 or tokens.at(close + 1) not in ("(", "::", "{"):
                return index
            index = close
        elif following in ("++", "--"):
            index += 1
        else:
            return index
