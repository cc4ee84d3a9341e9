"""Split preprocessed MSL into tokens. One regular expression: `findall` does the work in C."""

from __future__ import annotations

import re
from itertools import accumulate

from metalbench.msl.reading.tokens import Tokens

# `>` is always one token (except in `>=` and `->`), so that template brackets can be matched.
_PIECE = re.compile(
    r"""
    [ \t\r\f\v\n]+
  | (?:u8|[uUL])?R"\([\s\S]*?\)"
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
_BLANK = frozenset(" \t\r\f\v\n")
# Directives that can remain in a preprocessed source.
_DIRECTIVE = re.compile(r"#[ \t]*(?:(?:line[ \t]+)?\d|pragma\b|$)")
# First characters of tokens that `lex` examines.
_SPECIAL = frozenset("#/\"'\\`@")
# One half of a pair of quotes, and characters that no token begins with.
_NO_TOKEN = frozenset("\"'\\`@")
# Raw strings with a delimiter: the pattern above does not find their ends.
_RAW = frozenset({"R", "u8R", "uR", "UR", "LR"})


def split_source(source: str) -> list[str]:
    """Split a source into tokens, white space, comments and directives, without loss."""
    return _PIECE.findall(source)


def lex(source: str) -> Tokens:
    """Return the significant tokens of a preprocessed source.

    `Tokens.stray` lists the offsets of text that cannot occur in a preprocessed valid source. Clang
    and this lexer could split such text differently, which would hide a token from the checks here.
    """
    parts = split_source(source)
    starts = accumulate(map(len, parts), initial=0)
    kept = [pair for pair in zip(parts, starts, strict=False) if pair[0][0] not in _BLANK]
    special = [index for index, (part, _) in enumerate(kept) if part[0] in _SPECIAL]
    stray: list[int] = []
    left_out = set()
    for index in special:
        part, offset = kept[index]
        if part[0] == "#":
            left_out.add(index)
            if not _DIRECTIVE.match(part) or not _begins_line(source, offset):
                stray.append(offset)
        elif part[:2] in ("//", "/*"):
            left_out.add(index)
            stray.append(offset)
        elif part in _NO_TOKEN:
            stray.append(offset)
        elif part[0] == '"' and index and kept[index - 1][0] in _RAW:
            prefix, begin = kept[index - 1]
            if begin + len(prefix) == offset:
                stray.append(begin)
    if left_out:
        kept = [pair for index, pair in enumerate(kept) if index not in left_out]
    return Tokens(source, [part for part, _ in kept], [at for _, at in kept], tuple(stray))


def _begins_line(source: str, offset: int) -> bool:
    """Return whether only blanks precede an offset in its line."""
    return not source[source.rfind("\n", 0, offset) + 1 : offset].strip()
