"""Text to tokens. One regular expression; `findall` keeps the work in C."""

from __future__ import annotations

import re
from itertools import accumulate

from metalbench.msl.reading.tokens import Tokens

# `>` is a token of its own (but for `>=` and `->`), so that template brackets can be matched.
_PIECE = re.compile(
    r"""
    [ \t\r\f\v\n]+
  | [A-Za-z_]\w*
  | \.?[0-9](?:[eEpP][+-]|'\w|[\w.])*
  | //[^\n]*
  | /\*[\s\S]*?\*/
  | \#(?:[^\n\\]|\\[\s\S])*
  | "(?:\\[\s\S]|[^"\\\n])*"
  | '(?:\\[\s\S]|[^'\\\n])*'
  | <<=|\.\.\.|->|::|<=|>=|==|!=|&&|\|\||\+\+|--|\+=|-=|\*=|/=|%=|&=|\|=|\^=|<<
  | [\s\S]
    """,
    re.X,
)


def pieces(source: str) -> list[str]:
    """The whole source cut into tokens, white space, comments and directives: nothing is lost."""
    return _PIECE.findall(source)


def lex(source: str) -> Tokens:
    """The significant tokens of a preprocessed source."""
    parts = pieces(source)
    starts = accumulate(map(len, parts), initial=0)
    text: list[str] = []
    start: list[int] = []
    for part, offset in zip(parts, starts, strict=False):
        first = part[0]
        if first in " \n\t\r\f\v#" or (first == "/" and part[:2] in ("//", "/*")):
            continue
        text.append(part)
        start.append(offset)
    return Tokens(source, text, start)
