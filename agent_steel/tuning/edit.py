"""Edit the text of a kernel: names, header lines, dispatch lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from metalbench.expression import Expression
from metalbench.kernel.header import Kernel

# Words of threads that may depend on each other.
SHARING = re.compile(r"\b(threadgroup|atomic\w*|simd\w*|quad_\w+|\w*barrier\w*)\b")
UNROLL = "#pragma unroll\n"
_PRODUCT = re.compile(r"[A-Za-z_]\w*(\s*\*\s*[A-Za-z_]\w*)*")


def free_name(kernel: Kernel, wanted: str) -> str:
    """Return a name that the text does not have."""
    name = wanted
    while re.search(rf"\b{name}\b", kernel.source):
        name += "_"
    return name


def with_header_lines(source: str, lines: Iterable[str]) -> str:
    """Return the text with lines behind its last dispatch line."""
    text = "".join(f"{each}\n" for each in lines)
    ends = [each.end() for each in re.finditer(r"^\s*//\s*dispatch:[^\n]*\n", source, re.M)]
    at = ends[-1] if ends else 0
    return source[:at] + text + source[at:]


def with_tune_line(source: str, name: str, values: tuple[int, ...]) -> str:
    """Return the text with a `// tune:` line behind its dispatch line."""
    return with_header_lines(source, [f"// tune: {name} = {', '.join(map(str, values))}"])


def with_dispatch(source: str, function: str, geometry: str) -> str:
    """Return the text with another geometry in the first dispatch line of a function."""
    pattern = rf"^(\s*//\s*dispatch:\s*{re.escape(function)}\b)[^\n]*"
    return re.sub(pattern, rf"\1  {geometry}", source, count=1, flags=re.M)


def read_count(extents: Sequence[Expression] | None) -> tuple[str, frozenset[str]] | None:
    """Return the one extent of a grid as text that Metal shares, and its names; else None."""
    if extents is None or len(extents) != 1:
        return None
    return read_extent(extents[0])


def read_extent(extent: Expression) -> tuple[str, frozenset[str]] | None:
    """Return an extent that is a name or a product of names; None for another one."""
    text = str(extent).strip()
    return (text, extent.names) if _PRODUCT.fullmatch(text) else None
