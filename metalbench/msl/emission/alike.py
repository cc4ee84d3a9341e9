"""Functions that are the same but for the names in them, of which one is enough.

Where a function of the source is called twice, what its lanes do alone is written twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from metalbench.msl.ir.places import Places

_DEFINED = re.compile(r"^(?:  %([\w.]+) = |([\w.]+):$)", re.MULTILINE)
_NAME = re.compile(
    r"%([\w.]+)|^([\w.]+)(?=:$)|(?<=!dbg )(?:!\d+|!DILocation\([^)]*\))", re.MULTILINE
)


@dataclass
class _Known:
    name: str
    lines: Sequence[str]
    places: Places
    form: str = ""


class Alike:
    """The functions that there are."""

    def __init__(self) -> None:
        self._known: dict[int, list[_Known]] = {}

    def first(self, name: str, lines: Sequence[str], places: Places) -> str:
        """The name of the first that does what these lines do, each for the same line of a source.

        `lines` begin with the head, of which all but the function's name and place counts.
        """
        new = _Known(name, lines, places)
        others = self._known.setdefault(len(lines), [])
        for each in others:
            each.form = each.form or _form(each)
            new.form = new.form or _form(new)
            if each.form == new.form:
                return each.name
        others.append(new)
        return name


def _form(function: _Known) -> str:
    """The text with names by their order, and places by file and line."""
    head = function.lines[0].replace(f"@{function.name}(", "@(")
    head = head.replace(f"!dbg {function.places.subprogram} ", "")
    text = "\n".join((head, *function.lines[1:]))
    own = {one or other for one, other in _DEFINED.findall(text)}
    order: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name is None:
            line = function.places.line_of(found[0])
            return str(line) if line or not found[0][1].isdigit() else found[0]
        return order.setdefault(name, f"{len(order)}") if name in own else name

    return _NAME.sub(renamed, text)
