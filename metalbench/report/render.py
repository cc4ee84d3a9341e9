"""Render the jinja2 templates of pages and charts. Every text in them is escaped."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from metalbench.report import numbers
from metalbench.safe_text import html_text

_FOLDER = Path(__file__).with_name("templates")


def render_template(name: str, **context: Any) -> str:
    """Return the text of a template; raise jinja2.UndefinedError for a name that lacks a value."""
    return _environment().get_template(name).render(context)


@cache
def read_asset(name: str) -> Markup:
    """Return a style or script of the package, which templates insert without escapes."""
    return Markup((_FOLDER / name).read_text(encoding="utf-8"))


@cache
def _read_chart_style() -> Markup:
    """Return chart.css with the colours of the light theme.

    Programs that show SVG files may lack custom properties and `light-dark`.
    """
    light = dict(re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}),", read_asset("page.css")))
    style = re.sub(r"var\(--([\w-]+)\)", lambda name: light[name[1]], read_asset("chart.css"))
    return Markup(style)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_escape,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {"numbers": numbers, "read_chart_style": _read_chart_style}
    return environment


def _escape(value: object) -> object:
    """Escape what an expression of a template prints.

    jinja2 alone escapes markup. Control characters and commands of CI systems must be escaped, too.
    """
    if isinstance(value, Markup | int | float):
        return value
    return Markup(html_text(str(value)))
