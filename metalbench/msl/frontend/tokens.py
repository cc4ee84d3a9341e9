"""Tokens of a preprocessed source, as parallel lists: a kernel library has 10^5 tokens."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

_LINE_MARKER = re.compile(
    r'^[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)[ \t]+"((?:\\.|[^"\\\n])*)".*\n?', re.M
)
_ESCAPE = re.compile(r"\\([0-7]{1,3}|.)")
_LETTERS = {"n": "\n", "t": "\t"}
_BRACKETS = frozenset("()[]{}")
_OPENING = {")": "(", "]": "[", "}": "{"}


class Location(NamedTuple):
    """A source location in the user's file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Tokens:
    """The significant tokens of `source`: no white space, comments or directives.

    `text[i]` is the spelling of token i and `start[i]` its offset in `source`. `partner[i]` is the
    matching bracket of kind ( [ {, or -1. `stray` lists offsets of text that cannot occur in a
    preprocessed valid source (lexer.py).
    """

    source: str
    text: list[str]
    start: list[int]
    stray: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.text)

    def end(self, index: int) -> int:
        """Return the offset after token `index`."""
        return self.start[index] + len(self.text[index])

    def join(self, first: int, last: int) -> str:
        """Return the source text from token `first` to before token `last`."""
        return self.source[self.start[first] : self.end(last - 1)] if last > first else ""

    def at(self, index: int) -> str:
        """Return the spelling of token `index`, empty after the last token."""
        return self.text[index] if index < len(self.text) else ""

    def is_adjacent(self, index: int) -> bool:
        """Return whether no white space separates token `index` from the next one."""
        return index + 1 < len(self.text) and self.end(index) == self.start[index + 1]

    @cached_property
    def occurrences(self) -> dict[str, list[int]]:
        """Indices of all tokens, by spelling."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for index, text in enumerate(self.text):
            found[text].append(index)
        return dict(found)

    @cached_property
    def partner(self) -> list[int]:
        """The index of each bracket's matching bracket; -1 for other tokens and stray brackets."""
        partner = [-1] * len(self.text)
        stack: list[int] = []
        brackets = [index for index, text in enumerate(self.text) if text in _BRACKETS]
        for index in brackets:
            text = self.text[index]
            if text in "([{":
                stack.append(index)
            else:
                if not stack or self.text[stack[-1]] != _OPENING[text]:
                    return partner
                partner[index] = stack.pop()
                partner[partner[index]] = index
        return partner

    @cached_property
    def is_balanced(self) -> bool:
        """Whether all brackets match."""
        partner = self.partner
        return all(partner[index] >= 0 for index, text in enumerate(self.text) if text in _BRACKETS)

    @cached_property
    def _markers(self) -> list[tuple[int, int, str]]:
        found = [(0, 1, "<source>")]
        for marker in _LINE_MARKER.finditer(self.source):
            found.append((marker.end(), _line_number(marker[1]), decode_file_name(marker[2])))
        return found

    @cached_property
    def files(self) -> list[str]:
        """All files that the preprocessor read, in order of first appearance."""
        return list(dict.fromkeys(name for _, _, name in self._markers))

    @cached_property
    def _line_breaks(self) -> list[int]:
        """The offsets of all line breaks."""
        return [found.start() for found in re.finditer("\n", self.source)]

    def locate(self, offset: int) -> Location:
        """Return the user's file, line and column of an offset in `source`."""
        which = bisect_right(self._markers, offset, key=lambda marker: marker[0]) - 1
        begin, line, name = self._markers[which]
        breaks = self._line_breaks
        before = bisect_left(breaks, offset)
        line += before - bisect_left(breaks, begin)
        column = offset - (breaks[before - 1] if before else -1)
        return Location(name, line, column)

    def locate_token(self, index: int) -> Location:
        """Return the user's file, line and column of token `index`."""
        return self.locate(self.start[index])

    def split(self, first: int, last: int, separator: str = ",") -> Iterator[tuple[int, int]]:
        """Yield non-empty token ranges between separators outside of all brackets, including <>."""
        begin, index, angles = first, first, 0
        while index < last:
            text = self.text[index]
            if text in "([{" and self.partner[index] > index:
                index = self.partner[index]
            elif (
                text == "<" and index > first and can_open_template_arguments(self.text[index - 1])
            ):
                angles += 1
            elif text == ">" and angles:
                angles -= 1
            elif text == separator and not angles:
                if index > begin:
                    yield begin, index
                begin = index + 1
            index += 1
        if last > begin:
            yield begin, last


def decode_file_name(spelled: str) -> str:
    """Return the file name of a line marker, from its spelling between the quotes.

    Clang escapes line breaks and tabs as C does, and writes bytes beyond printable ASCII in octal.
    """
    if "\\" not in spelled:
        return spelled
    plain = _ESCAPE.sub(
        lambda found: (
            chr(int(found[1], 8) & 0xFF)
            if found[1][0].isdigit()
            else _LETTERS.get(found[1], found[1])
        ),
        spelled.encode().decode("latin-1"),
    )
    return plain.encode("latin-1").decode(errors="surrogateescape")


def _line_number(digits: str) -> int:
    """Return the number of a line marker. Clang accepts at most 2^31 - 1."""
    return int(digits[:10])


def is_name(text: str) -> bool:
    """Return whether a token is an identifier or a keyword."""
    return text[:1].isalpha() or text[:1] == "_"


def can_open_template_arguments(previous: str) -> bool:
    """Return whether a `<` after this token may open template arguments."""
    return is_name(previous)


# Split preprocessed MSL into tokens. One regular expression: `findall` does the work in C.

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


_DIGRAPHS = {"<:": "[", ":>": "]", "<%": "{", "%>": "}"}


def replace_digraphs(source: str) -> str:
    """Return a preprocessed source with brackets in place of the digraphs `<:`, `:>`, `<%`, `%>`.

    Columns stay. As in C++, `<::` is a `<` and a `::`; the pieces of `split_source` are too.
    """
    if not any(digraph in source for digraph in _DIGRAPHS):
        return source
    pieces = split_source(source)
    for index in range(len(pieces) - 1):
        bracket = _DIGRAPHS.get(pieces[index] + pieces[index + 1])
        if bracket:
            pieces[index : index + 2] = [bracket, " "]
    return "".join(pieces)


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


# Match the angle brackets of template argument lists, which may also be comparison operators.

_SEARCH_STEPS = 20_000


def find_closing_angle(tokens: Tokens, index: int, limit: int) -> int:
    """Return the index of the `>` that closes the `<` at `index`; -1 if none precedes `limit`.

    A `<` after a name may be an operator (`enable_if_t<N < 8, bool>`). The search tries it as a
    bracket first and as an operator second, within `_SEARCH_STEPS` steps.
    """
    return _Search(tokens, limit).close(index + 1)


class _Search:
    """A backtracking search for one closing `>`, limited in its number of steps."""

    def __init__(self, tokens: Tokens, limit: int) -> None:
        self.tokens = tokens
        self.limit = limit
        self.steps = 0

    def close(self, index: int) -> int:
        """Return the index of the `>` that closes a bracket with contents from `index`, or -1."""
        text, partner = self.tokens.text, self.tokens.partner
        while index < self.limit and self.steps < _SEARCH_STEPS:
            self.steps += 1
            token = text[index]
            if token == ">":
                return index
            if token in ";{}])":
                return -1
            if token in "([":
                index = partner[index]
                if index < 0:
                    return -1
            elif token == "<" and can_open_template_arguments(text[index - 1]):
                inner = self.close(index + 1)
                outer = self.close(inner + 1) if inner >= 0 else -1
                if outer >= 0:
                    return outer
            index += 1
        return -1


def find_opening_angle(tokens: Tokens, index: int, limit: int) -> int:
    """Return the index of the `<` that the `>` at `index` closes, not before `limit`, or -1."""
    depth = 0
    while index >= limit:
        token = tokens.text[index]
        if token == ">":
            depth += 1
        elif token == "<":
            depth -= 1
            if depth == 0:
                return index
        elif token in ")]" and tokens.partner[index] >= 0:
            index = tokens.partner[index]
        elif token in ";{}":
            return -1
        index -= 1
    return -1
