"""Read the common parts of instructions: typed operands, attributes, flags."""

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


_ALIGNMENT = re.compile(r"\balign (\d+)\b")
_DEREFERENCEABLE = re.compile(r"\bdereferenceable\((\d+)\)")
_REFERENCE = re.compile(r"\balign \d+ (?=dereferenceable)")


@lru_cache(4096)
def read_typed_value(text: str) -> Value:
    """Return the value of a text such as `i32 noundef %x`; attributes are dropped."""
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


def without_reference_alignment(text: str) -> str:
    """Return parameters or arguments without the alignment of references.

    The alignment of others stays, such as that of a result that lies on the stack.
    """
    return _REFERENCE.sub("", text) if "dereferenceable" in text else text


def with_alignment(attributes: str, alignment: int) -> str:
    """Return an argument's attributes with another alignment, if they have one."""
    return _ALIGNMENT.sub(f"align {alignment}", attributes)


def alignment_of(attributes: str) -> int | None:
    """Return the alignment among an argument's attributes."""
    found = _ALIGNMENT.search(attributes)
    return int(found[1]) if found else None


def dereferenceable_bytes_of(attributes: str) -> int | None:
    """Return how many bytes an argument's attributes say that it points to."""
    found = _DEREFERENCEABLE.search(attributes)
    return int(found[1]) if found else None


def take_flags(text: str) -> tuple[tuple[str, ...], str]:
    """The flags that a text begins with, and what comes behind them."""
    found = _FLAGS.match(text)
    return (tuple(found[0].split()), text[found.end() :]) if found else ((), text)
