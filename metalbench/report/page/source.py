"""Split Metal Shading Language into tokens with colours, when a page is built."""

from __future__ import annotations

from collections.abc import Iterator
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
