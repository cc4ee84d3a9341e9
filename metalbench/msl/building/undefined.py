"""Functions that a kernel calls and nobody defines, as the linker finds them."""

from __future__ import annotations

import re
from pathlib import Path

from metalbench.msl.building.imports import RUNTIME
from metalbench.msl.building.messages import spell_as_metal
from metalbench.msl.reading.program import Source
from metalbench.msl.reading.tokens import Location

_SYMBOL = re.compile(r"undefined symbol: (.*)")
_PLACE = re.compile(r">>> referenced by .*\((.*):(\d+)\)")
# The name itself in `void space::name<int>(float)`; Mach-O's linker leaves names as `__Z4namef`.
_NAME = re.compile(r"(~?\w+)(?:<.*>)?\(")
_MANGLED = re.compile(r"_{1,2}Z(?:N\w*?)?(?P<length>\d+)(?P<rest>\w+)")


def undefined(said: str, source: Source) -> str:
    """Errors for the names that the linker has found nowhere, but clang's own."""
    found: dict[str, tuple[str, int] | None] = {}
    symbol = ""
    for line in said.split("\n"):
        if match := _SYMBOL.search(line):
            symbol = match[1].strip()
            if symbol.lstrip("_") not in RUNTIME:
                found.setdefault(symbol, None)
        elif (match := _PLACE.search(line)) and symbol in found:
            found[symbol] = found[symbol] or (match[1], int(match[2]))
    return "\n".join(_message(source, *each) for each in found.items())


def unknown(said: str) -> str:
    """The names that the linker has found nowhere, but clang's own; may be empty."""
    symbols = dict.fromkeys(match[1].strip() for match in _SYMBOL.finditer(said))
    return ", ".join(each for each in symbols if each.lstrip("_") not in RUNTIME)


def _message(source: Source, symbol: str, place: tuple[str, int] | None) -> str:
    name = _name(symbol)
    where = _call(source, name, place) if place else _declaration(source, name)
    return (
        f"{where}: error: {spell_as_metal(symbol)} is called, but nothing defines it; a Metal "
        "library is one source: define it there, or include the file that does"
    )


def _name(symbol: str) -> str:
    if match := _MANGLED.match(symbol):
        return match["rest"][: int(match["length"])]
    match = _NAME.search(symbol)
    return match[1] if match else symbol


def _call(source: Source, name: str, place: tuple[str, int]) -> Location | str:
    """The name's own column in the line of the call; the line alone where a macro hides it."""
    path, line = place
    folder = Path(source.filename).resolve().parent
    tokens = source.tokens
    for index in tokens.occurrences.get(name, ()):
        where = tokens.locate_token(index)
        if where.line == line and path in (where.file, str(folder / Path(where.file).name)):
            return where
    return f"{path}:{line}"


def _declaration(source: Source, name: str) -> Location | str:
    places = source.tokens.occurrences.get(name)
    return source.tokens.locate_token(places[0]) if places else source.filename
