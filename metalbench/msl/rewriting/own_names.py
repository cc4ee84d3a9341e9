"""What a source itself defines in namespace `metal`: there it stands for what the MSL headers have.

Sources do so to know on every version of Metal a name that only later ones have. While the MSL
headers are read, such names mean others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from metalbench.msl.reading.declarations import Declaration
from metalbench.msl.reading.program import Source
from metalbench.msl.reading.tokens import Tokens, is_name


def find_metal_names(source: Source) -> list[str]:
    """Names of variables, types and enumerators that the source defines in `metal`.

    Without specialisations and functions, which are added to what is there, and without names that
    the source also has for members: those may be members of types of the headers.
    """
    tokens = source.tokens
    found = [name for each in source.declarations for name in _defined(tokens, each)]
    members = {
        name
        for name in found
        if any(tokens.text[index - 1] in (".", "->") for index in tokens.occurrences[name])
    }
    return sorted(set(found) - members)


def rename_in_headers(names: Sequence[str], includes: str) -> str:
    """Lines that include headers, in which these names are not the source's."""
    before = "".join(f"#define {name} mb_headers_{name}\n" for name in names)
    behind = "".join(f"#undef {name}\n" for name in names)
    return f"{before}{includes}{behind}"


def _defined(tokens: Tokens, declaration: Declaration) -> Iterable[str]:
    if declaration.scope != ("metal",) or declaration.specialisation_arguments:
        return []
    words = tokens.text[declaration.head : declaration.last]
    if declaration.kind == "alias":
        if words[0] == "using" and words[2:3] == ["="]:
            return [words[1]]
        return [words[-2]] if words[0] == "typedef" and is_name(words[-2]) else []
    if declaration.kind == "variable":
        return [declaration.name] if declaration.name and words[0] != "extern" else []
    if declaration.kind == "record" and declaration.name:
        scoped = words[:2] in (["enum", "class"], ["enum", "struct"])
        listed = _enumerators(tokens, declaration) if words[0] == "enum" and not scoped else ()
        return [declaration.name, *listed]
    return []


def _enumerators(tokens: Tokens, declaration: Declaration) -> Iterator[str]:
    assert declaration.body is not None
    opening, closing = declaration.body
    for first, _ in tokens.split(opening + 1, closing):
        yield tokens.text[first]
