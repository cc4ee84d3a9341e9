"""HTML elements. Every string that is not `Markup` is escaped."""

from __future__ import annotations

from metalbench.foreign_text import html_text

EMPTY_ELEMENTS = ("meta", "input", "circle", "line", "polyline", "polygon", "br")


class Markup(str):
    """Text that is valid HTML."""

    __slots__ = ()


def text(given: str) -> Markup:
    """Escape a string; `Markup` passes unchanged."""
    if isinstance(given, Markup):
        return given
    return Markup(html_text(given))


def element(name: str, /, *children: str, **attributes: str | float | bool | None) -> Markup:
    """Return ``<name attribute="...">children</name>``; strings other than `Markup` are escaped.

    `_` in an attribute's name stands for `-`; at the end of a name it is dropped (`class_`).
    Attributes that are None or False are left out; attributes that are True have no value.
    """
    given = "".join(map(_attribute, attributes, attributes.values()))
    if name in EMPTY_ELEMENTS and not children:
        return Markup(
            f"<{name}{given}>" if name in ("meta", "input", "br") else f"<{name}{given}/>"
        )
    return Markup(f"<{name}{given}>{''.join(map(text, children))}</{name}>")


def join_markup(*parts: str) -> Markup:
    """Concatenate elements and texts."""
    return Markup("".join(map(text, parts)))


def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    attribute = name.rstrip("_").replace("_", "-")
    return f" {attribute}" if value is True else f' {attribute}="{text(str(value))}"'
