"""Find names of namespace `metal` that a source defines and that the MSL headers define too.

Sources define names that only later versions of Metal have. While the MSL headers are parsed,
macros rename these names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from metalbench.msl.reading.declarations import Declaration
from metalbench.msl.reading.program import Source
from metalbench.msl.reading.tokens import Tokens, is_name


def find_metal_names(source: Source) -> list[str]:
    """Return the variables, types and enumerators that the source defines in namespace `metal`.

    Specialisations and functions are not included, because they add to those of the headers. Names
    that the source also uses for members are not included: they may be members of the headers'
    types.
    """
    tokens = source.tokens
    found = [name for each in source.declarations for name in _find_defined_names(tokens, each)]
    members = {
        name
        for name in found
        if any(tokens.text[index - 1] in (".", "->") for index in tokens.occurrences[name])
    }
    return sorted(set(found) - members)


def rename_in_headers(names: Sequence[str], includes: str) -> str:
    """Return includes of headers, between macros that rename these names in them."""
    before = "".join(f"#define {name} mb_headers_{name}\n" for name in names)
    behind = "".join(f"#undef {name}\n" for name in names)
    return f"{before}{includes}{behind}"


def _find_defined_names(tokens: Tokens, declaration: Declaration) -> Iterable[str]:
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
        listed = (
            _find_enumerator_names(tokens, declaration) if words[0] == "enum" and not scoped else ()
        )
        return [declaration.name, *listed]
    return []


def _find_enumerator_names(tokens: Tokens, declaration: Declaration) -> Iterator[str]:
    assert declaration.body is not None
    opening, closing = declaration.body
    for first, _ in tokens.split(opening + 1, closing):
        yield tokens.text[first]
