"""Instructions of LLVM's IR as text: what they give, what they take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

NAME = r'%(?:"[^"\n]*"|[-\w.$]+)'
_RESULT = re.compile(rf"\s*({NAME}) = ")
_USED = re.compile(NAME)
_LABEL = re.compile(r'^(?:"[^"\n]*"|[-\w.$]+):')
_UNNAMED = re.compile(r"%(\d+)\b")
_UNNAMED_LABEL = re.compile(r"^(\d+):", re.MULTILINE)
_FUNCTION = re.compile(r"^(define [^\n]*\{\n)(.*?)^\}$", re.MULTILINE | re.DOTALL)
_METADATA = re.compile(r",? !\w[^\n]*")


@dataclass(frozen=True)
class Line:
    """One instruction. `result` is empty if nothing comes out."""

    text: str
    result: str
    uses: tuple[str, ...]

    @property
    def opcode(self) -> str:
        """Its first word, for a call `call`."""
        words = self.text.partition(" = ")[2].split() if self.result else self.text.split()
        return next((each for each in words if each not in ("tail", "notail", "musttail")), "")


def line_of(text: str) -> Line:
    """An instruction, read."""
    result = _RESULT.match(text)
    used = _USED.findall(_METADATA.sub("", text[result.end() :] if result else text))
    return Line(text, result[1] if result else "", tuple(used))


def functions(ir: str) -> Iterator[re.Match[str]]:
    """Each definition of a module: its head and its body."""
    return _FUNCTION.finditer(ir)


def named(head: str, body: str) -> tuple[str, str]:
    """A function in which nothing has a mere number, so that lines may change places."""
    arguments = len(_UNNAMED.findall(head))
    if not _LABEL.match(body):
        body = f"{arguments}:\n{body}"
    body = _UNNAMED_LABEL.sub(r"v\1:", _UNNAMED.sub(r"%v\1", body))
    return _UNNAMED.sub(r"%v\1", head), body


def blocks(body: str) -> list[list[str]]:
    """The lines of each block, from its label on."""
    found: list[list[str]] = []
    for line in body.splitlines():
        if not found or _LABEL.match(line):
            found.append([])
        found[-1].append(line)
    return found


def definitions(lines: Sequence[str]) -> Mapping[str, Line]:
    """What gives each value of a function."""
    return {read.result: read for read in map(line_of, lines) if read.result}
