"""Metal Shading Language in colour, made when the page is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pygments import highlight  # type: ignore[import-untyped,unused-ignore]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped,unused-ignore]
from pygments.lexers.c_cpp import CppLexer  # type: ignore[import-untyped,unused-ignore]
from pygments.token import Comment, Keyword, Name  # type: ignore[import-untyped,unused-ignore]

from metalbench.report.page.markup import UNPRINTABLE, Markup

# Of the specification's sections 2 to 5: what C++ does not have.
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
HEADER_LINES = ("// dispatch:", "// tune:", "// scratch:", "// dtypes:", "// math:")


class MslLexer(CppLexer):  # type: ignore[misc,unused-ignore]
    """C++ with Metal's words, and with the lines of a kernel's header told from comments."""

    name = "Metal Shading Language"
    aliases = ("msl",)

    def get_tokens_unprocessed(
        self, text: str, *arguments: Any, **states: Any
    ) -> Iterator[tuple[int, Any, str]]:
        """As the lexer of C++, with kinds of tokens that it does not know."""
        for index, kind, value in super().get_tokens_unprocessed(text, *arguments, **states):
            if kind in Name and value in QUALIFIERS:
                yield index, Keyword, value
            elif kind in Name and value in TYPES:
                yield index, Keyword.Type, value
            elif kind in Comment and value.startswith(HEADER_LINES):
                yield index, Comment.Special, value
            else:
                yield index, kind, value


def highlighted(source: str) -> Markup:
    """The source as HTML, its tokens in classes; everything in it is escaped."""
    plain = UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", source)
    formatter = HtmlFormatter(nowrap=True)
    return Markup(highlight(plain, MslLexer(stripnl=False), formatter))
