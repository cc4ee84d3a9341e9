"""Split Metal Shading Language into tokens with colours, when a page is built."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from pygments.lexers.c_cpp import CppLexer  # type: ignore[import-untyped,unused-ignore]
from pygments.token import (  # type: ignore[import-untyped,unused-ignore]
    Comment,  # type: ignore[import-untyped,unused-ignore]
    Keyword,  # type: ignore[import-untyped,unused-ignore]
    Name,  # type: ignore[import-untyped,unused-ignore]
    Number,  # type: ignore[import-untyped,unused-ignore]
    String,  # type: ignore[import-untyped,unused-ignore]
)

from metalbench.kernel.source_files import library_folder

# Keywords of the Metal specification, sections 2 to 5, that C++ lacks.
QUALIFIERS = frozenset(
    (
        *("kernel", "vertex", "fragment", "device", "constant", "threadgroup", "thread"),
        *("threadgroup_imageblock", "object_data", "ray_data"),
    )
)
SCALARS = ("half", "bfloat", "uchar", "ushort", "uint", "ulong", "sampler")
TYPES = frozenset(SCALARS) | frozenset(
    f"{scalar}{count}"
    for scalar in (
        *("bool", "char", "short", "int", "long", "uchar", "ushort", "uint", "ulong"),
        *("half", "float", "bfloat"),
    )
    for count in (2, 3, 4)
)
# Tokens with a colour; other tokens are plain text, which makes a page four times smaller.
CLASSES = {
    Keyword: "k",
    Keyword.Type: "t",
    Name.Function: "t",
    Name.Class: "t",
    Number: "m",
    String: "s",
    Comment: "c",
    Comment.Special: "h",
    Comment.Preproc: "p",
    Comment.PreprocFile: "p",
}
HEADER_LINES = (
    *("// dispatch:", "// tune:", "// defaults:"),
    *("// scratch:", "// limits:", "// dtypes:", "// math:"),
)


class MslLexer(CppLexer):  # type: ignore[misc,unused-ignore]
    """The lexer of C++ with Metal's keywords and a token for header lines."""

    name = "Metal Shading Language"
    aliases = ("msl",)

    def get_tokens_unprocessed(
        self, text: str, *arguments: Any, **states: Any
    ) -> Iterator[tuple[int, Any, str]]:
        """Yield the tokens of C++, with Metal's keywords, types and header lines."""
        for index, kind, value in super().get_tokens_unprocessed(text, *arguments, **states):
            if kind in Name and value in QUALIFIERS:
                yield index, Keyword, value
            elif kind in Name and value in TYPES:
                yield index, Keyword.Type, value
            elif kind in Comment and value.startswith(HEADER_LINES):
                yield index, Comment.Special, value
            else:
                yield index, kind, value


def split_source(source: str) -> list[tuple[str, str]]:
    """Return the parts of a source, each with the CSS class of its colour or ""."""
    tokens = MslLexer(stripnl=False).get_tokens(source)
    found = ((_class_of(kind), value) for kind, value in tokens)
    return [
        (name, "".join(text for _, text in same)) for name, same in groupby(found, itemgetter(0))
    ]


@cache
def _class_of(kind: Any) -> str:
    """Return the CSS class of a token type: that of the nearest ancestor with one."""
    return next((CLASSES[each] for each in reversed(kind.split()) if each in CLASSES), "")


# Headers that a stored source has in place of its `#include`s, so that a page shows each once.

_OPENS = re.compile(r"#ifndef METALBENCH_INCLUDED_(\d+)")
_CONDITIONAL = re.compile(r"\s*#\s*(if|ifdef|ifndef|endif)\b")
_NOT_STORED = re.compile(r'\s*#\s*(pragma\s+once\b|include\s*")')


@dataclass(frozen=True)
class Header:
    """A header without those that it includes. `key` is the same for the same text."""

    key: str
    text: str

    @property
    def name(self) -> str:
        """The library's name of this text, such as metalbench/rows.h; else the key."""
        return _library_names().get(self.key, self.key)

    @property
    def title(self) -> str:
        """The first sentence of the comment at its top, or nothing."""
        words = []
        for line in self.text.strip().splitlines():
            if not line.startswith("//") or not line.strip("/ "):
                break
            words.append(line.strip("/ "))
        return re.split(r"(?<=[.:]) ", " ".join(words), maxsplit=1)[0].rstrip(":")


def _key_of(lines: Iterable[str]) -> str:
    """Return the key of a header's lines. An `#include` may have left an empty line."""
    text = "\n".join(filter(str.strip, lines))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]


@cache
def _library_names() -> dict[str, str]:
    """Return the names of the library's headers, as in `#include`, by the keys of their texts."""
    names = {}
    folder = library_folder() / "include"
    for path in sorted(folder.rglob("*.h")):
        lines = path.read_text(encoding="utf-8").splitlines()
        own = (line for line in lines if not _NOT_STORED.match(line))
        names[_key_of(own)] = path.relative_to(folder).as_posix()
    return names


def separate_headers(source: str) -> tuple[str, tuple[Header, ...]]:
    """Return a kernel's own lines and all headers that it includes, also through others.

    The headers that the kernel itself includes have a line in their place.

    A text whose guards do not match is returned as it is.
    """
    headers: dict[str, Header] = {}
    blocks: list[list[str]] = [[]]
    depths = [0]
    lines = iter(source.splitlines())
    for line in lines:
        if _OPENS.fullmatch(line):
            blocks.append([])
            depths.append(1)
            next(lines, None)
            continue
        match = _CONDITIONAL.match(line)
        if match:
            depths[-1] += -1 if match[1] == "endif" else 1
        if len(blocks) > 1 and depths[-1] == 0:
            depths.pop()
            found = blocks.pop()
            key = _key_of(found)
            headers[key] = Header(key, "\n".join(found).strip("\n"))
            # Another kernel may have included the same header before, which leaves no line here.
            if len(blocks) == 1:
                blocks[0].append(f"// included: {headers[key].name}")
            continue
        blocks[-1].append(line)
    if len(blocks) > 1:
        return source, ()
    return "\n".join(blocks[0]) + "\n", tuple(headers.values())
