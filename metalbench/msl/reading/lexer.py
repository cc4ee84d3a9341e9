"""Text to tokens. One regular expression; `findall` keeps the work in C."""

from __future__ import annotations

import re
from itertools import accumulate

from metalbench.msl.reading.tokens import Tokens

# `>` is a token of its own (but for `>=` and `->`), so that template brackets can be matched.
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
# What a preprocessed source has directives for.
_DIRECTIVE = re.compile(r"#[ \t]*(?:(?:line[ \t]+)?\d|pragma\b|$)")
# What the tokens begin with that are looked at more closely.
_SPECIAL = frozenset("#/\"'\\`@")
# One half of a pair of quotes, and characters that no token begins with.
_NO_TOKEN = frozenset("\"'\\`@")
# Raw strings with a delimiter: the pattern above does not find their ends.
_RAW = frozenset({"R", "u8R", "uR", "UR", "LR"})


def split_source(source: str) -> list[str]:
    """The whole source cut into tokens, white space, comments and directives: nothing is lost."""
    return _PIECE.findall(source)


def lex(source: str) -> Tokens:
    """Return the significant tokens of a preprocessed source.

    `Tokens.stray` lists what a preprocessor leaves behind in no valid source. Clang and this lexer
    may cut such text differently, so that a token could be hidden here and seen there.
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
    """Return whether nothing but blanks precedes an offset in its line."""
    return not source[source.rfind("\n", 0, offset) + 1 : offset].strip()
