"""Facts that a device reports, as text."""

from __future__ import annotations

from metalbench.report import numbers
from metalbench.result.conditions import Fact, Facts


def facts_text(facts: Facts) -> str:
    """Return ``low power mode no, allocated 12.0 MiB``; units of names move to the values."""
    return ", ".join(_fact(name, value) for name, value in facts.items())


def _fact(name: str, value: Fact) -> str:
    words = name.replace("_", " ")
    if isinstance(value, bool):
        return f"{words} {'yes' if value else 'no'}"
    if isinstance(value, list):
        return f"{words} {' '.join(value) or 'none'}"
    if not isinstance(value, str):
        if name.endswith("_bytes"):
            return f"{words.removesuffix(' bytes')} {numbers.size(value)}"
        if name.endswith("_ns"):
            return f"{words.removesuffix(' ns')} {numbers.short_time(value)}"
    return f"{words} {value}"
