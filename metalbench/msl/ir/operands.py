"""What instructions have in common: typed operands, their attributes, flags."""

from __future__ import annotations

import re
from functools import lru_cache

from metalbench.msl.ir.model import Value
from metalbench.msl.ir.text import closing
from metalbench.msl.ir.types import take_type

_FLAGS = re.compile(
    r"(?:(?:nuw|nsw|exact|disjoint|nneg|samesign|inbounds|nusw|fast|nnan|ninf|nsz|arcp|contract"
    r"|afn|reassoc)\b\s*)+"
)
_ATTRIBUTE = re.compile(
    r"(?:noundef|nonnull|signext|zeroext|inreg|noalias|readonly|readnone|writeonly|nocapture"
    r"|returned|nofree|immarg|dead_on_unwind|dead_on_return|writable|allocalign|swiftself|noext"
    r"|align \d+|align\(\d+\)|(?P<open>(?:dereferenceable|dereferenceable_or_null|captures|range"
    r"|nofpclass|initializes|sret|byval)\())\s*"
)


@lru_cache(4096)
def typed(text: str) -> Value:
    """A value behind its type; attributes between them are dropped."""
    type_, rest = take_type(text)
    return Value(type_, take_attributes(rest)[1].strip())


def take_attributes(text: str) -> tuple[str, str]:
    """The attributes that a text begins with, and what comes behind them."""
    at = 0
    while found := _ATTRIBUTE.match(text, at):
        at = closing(text, found.end("open") - 1) + 1 if found["open"] else found.end()
        while text[at : at + 1] == " ":
            at += 1
    return text[:at].strip(), text[at:]


def take_flags(text: str) -> tuple[tuple[str, ...], str]:
    """The flags that a text begins with, and what comes behind them."""
    found = _FLAGS.match(text)
    return (tuple(found[0].split()), text[found.end() :]) if found else ((), text)
