"""Rewrite floating-point literals, which are float in Metal; refuse `double`."""

from __future__ import annotations

import re

from metalbench._core import CompileError
from metalbench.msl.reading.tokens import Tokens
from metalbench.msl.rewriting.edits import Edits

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

    A compiler flag for single-precision constants has no effect in templates.
    """
    for word, indices in tokens.occurrences.items():
        literal = word[0] in ".0123456789" and _FLOAT_LITERAL.fullmatch(word)
        if literal and literal["suffix"] not in ("l", "L"):
            text = _format_float_literal(literal["digits"], literal["suffix"].lower())
            for index in indices:
                edits.replace(tokens.start[index], tokens.end(index), text)


def _format_float_literal(digits: str, suffix: str) -> str:
    if not suffix:
        return f"{digits}f"
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
            f"{tokens.locate_token(first)}: error: {tokens.text[first]}: Metal has no double; "
            "use float, and `f` or no suffix for literals"
        )
