"""Merge emitted functions that are equal except for names, as LLVM's MergeFunctions does.

A function of the source that is called twice may leave two equal scalar regions.
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
class _EmittedFunction:
    name: str
    lines: Sequence[str]
    places: Places
    form: str = ""


class FunctionMerger:
    """Functions that have been emitted, to be compared with new ones."""

    def __init__(self) -> None:
        self._known: dict[int, list[_EmittedFunction]] = {}

    def find_first(self, name: str, lines: Sequence[str], places: Places) -> str:
        """Return the name of the first function with equal instructions and source lines.

        `lines` begin with the head of the function, whose name and debug location are ignored.
        """
        new = _EmittedFunction(name, lines, places)
        others = self._known.setdefault(len(lines), [])
        for each in others:
            each.form = each.form or _canonicalise(each)
            new.form = new.form or _canonicalise(new)
            if each.form == new.form:
                return each.name
        others.append(new)
        return name


def _canonicalise(function: _EmittedFunction) -> str:
    """Return the text with names replaced by their order, and debug locations by file and line."""
    head = function.lines[0].replace(f"@{function.name}(", "@(")
    head = head.replace(f"!dbg {function.places.subprogram} ", "")
    text = "\n".join((head, *function.lines[1:]))
    own = {one or other for one, other in _DEFINED.findall(text)}
    order: dict[str, str] = {}

    def rename(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name is None:
            line = function.places.line_of(found[0])
            return str(line) if line or not found[0][1].isdigit() else found[0]
        return order.setdefault(name, f"{len(order)}") if name in own else name

    return _NAME.sub(rename, text)
