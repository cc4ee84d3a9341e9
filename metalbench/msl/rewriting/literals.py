"""Floating-point literals: float without a suffix, as in Metal; `double`, which it lacks."""

from __future__ import annotations

import re

from metalbench._core import CompileError
from metalbench.msl.reading.tokens import Tokens
from metalbench.msl.rewriting.edits import Edits

_FLOATING = re.compile(
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
_TYPES = {"h": "half", "bf": "bfloat"}


def rewrite_literals(tokens: Tokens, edits: Edits) -> None:
    """`1.5` becomes `1.5f`, also where a flag of clang's forgets it: in templates.

    `1.5h` becomes half(1.5f), `2bf` bfloat(2.f).
    """
    for word, indices in tokens.occurrences.items():
        literal = word[0] in ".0123456789" and _FLOATING.fullmatch(word)
        if literal and literal["suffix"] not in ("l", "L"):
            text = _spelled(literal["digits"], literal["suffix"].lower())
            for index in indices:
                edits.replace(tokens.start[index], tokens.end(index), text)


def _spelled(digits: str, suffix: str) -> str:
    if not suffix:
        return f"{digits}f"
    point = "" if re.search(r"[.eEpP]", digits) else "."
    return f"{_TYPES[suffix]}({digits}{point}f)"


def refuse_double(tokens: Tokens) -> None:
    """Raise CompileError for the first `double` or `long double` literal of a source."""
    places = list(tokens.occurrences.get("double", ()))
    for word, indices in tokens.occurrences.items():
        literal = word[0] in ".0123456789" and _FLOATING.fullmatch(word)
        if literal and literal["suffix"] in ("l", "L"):
            places += indices
    if places:
        first = min(places)
        raise CompileError(
            f"{tokens.locate_token(first)}: error: {tokens.text[first]}: Metal has no double; "
            "use float, and `f` or no suffix for literals"
        )
