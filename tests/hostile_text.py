"""Text as an attacker writes it, results that are full of it, and what must not be left of it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

# Each attacks at least one medium; all together are one message.
ATTACKS = {
    "window title": "\x1b]0;PWNED\x07",
    "colour": "\x1b[31mRED\x1b[0m",
    "clear the screen": "\x1b[2J\x1b[H",
    "clipboard": "\x1b]52;c;cm0gLXJmIC8=\x07",
    "hyperlink": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "device control string": "\x1bP+q544e\x1b\\",
    "C1 introducer": "\x9b31m\x9d0;x\x9c\x85",
    "overwritten line": "all correct\rFAILED\x08\x08\x7f",
    "bidirectional override": "\u202eevil\u2066\u200f\u061c\u2069",
    "line separators": "a\u2028b\u2029c",
    "invisible tags": "\U000e0041\U000e0042\ufeff",
    "NUL and surrogate": "\x00\udc80\ud800",
    "GitHub command": "\n::error file=a::INJECTED\n  ::add-mask::x\r\n::set-output name=a::b\n",
    "old GitHub command": "##[group]hidden ##[error]no",
    "encoded newline": "%0A::stop-commands::x%0D%25",
    "HTML": "\"'><script>alert(1)</script><img src=x onerror=alert(2)></pre>&lt;&#x1b;",
    "XML": "]]> <![CDATA[ -->",
    "Markdown": "| a `b` ``` ```` [x](javascript:alert(1)) ![y](http://evil.example/z) **c** ~~d~~",
    "mention": "@everyone https://evil.example www.evil.example",
    "rich markup": "[bold red]x[/] [link=http://evil.example]y[/link] :smile:",
    "formula": "=cmd|'/C calc'!A0",
    "mathematics": "$\\frac{$",
}
HOSTILE = " ".join(ATTACKS.values())
# What a spreadsheet would compute, where a cell is nothing else.
FORMULAS = (
    "=1+1",
    "+1+1",
    "-1+cmd",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    " =1",
    "\n=1",
    "'=1\x00",
    "\uff1d1",
    "=HYPERLINK(1)",
)
RAW_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
WORKFLOW_COMMAND = re.compile(r"(?m)^\s*::\w|##\[")


def assert_harmless(text: str) -> None:
    """Fail if a terminal, or the log of a CI job, would obey any of `text`."""
    text.encode()
    found = RAW_CONTROL.search(text)
    assert not found, (found, text[max(0, found.start() - 60) : found.end() + 60])
    command = WORKFLOW_COMMAND.search(text)
    assert not command, text[command.start() : command.start() + 100]


def hostile(given: Any, text: str = HOSTILE) -> Any:
    """Return the same value with `text` in place of every string; members of enums stay."""
    if isinstance(given, Enum):
        return given
    if isinstance(given, str):
        return text
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        fields = {
            each.name: hostile(getattr(given, each.name), text)
            for each in dataclasses.fields(given)
            if each.init
        }
        return dataclasses.replace(given, **fields)
    if isinstance(given, Mapping):
        return {hostile(key, text): hostile(value, text) for key, value in given.items()}
    if isinstance(given, (tuple, list)):
        return type(given)(hostile(each, text) for each in given)
    return given
