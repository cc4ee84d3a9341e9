"""HTML elements. Text becomes part of one only escaped; nothing else makes markup of a string."""

from __future__ import annotations

from metalbench.foreign_text import html_text

EMPTY_ELEMENTS = ("meta", "input", "circle", "line", "polyline", "polygon", "br")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(given: str) -> Markup:
    """Make text of any string, whatever it holds."""
    if isinstance(given, Markup):
        return given
    return Markup(html_text(given))


def element(name: str, /, *children: str, **attributes: str | float | bool | None) -> Markup:
    """``<name attribute="...">children</name>``; strings that are no `Markup` are escaped.

    `_` in an attribute's name stands for `-`, one at its end for nothing (`class_`). Attributes
    that are None or False are left out, those that are True have no value.
    """
    given = "".join(map(_attribute, attributes, attributes.values()))
    if name in EMPTY_ELEMENTS and not children:
        return Markup(
            f"<{name}{given}>" if name in ("meta", "input", "br") else f"<{name}{given}/>"
        )
    return Markup(f"<{name}{given}>{''.join(map(text, children))}</{name}>")


def joined(*parts: str) -> Markup:
    """Several elements and texts one after the other."""
    return Markup("".join(map(text, parts)))


def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    spelled = name.rstrip("_").replace("_", "-")
    return f" {spelled}" if value is True else f' {spelled}="{text(str(value))}"'
