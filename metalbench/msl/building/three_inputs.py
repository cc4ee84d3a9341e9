"""Two steps of logic with two constants, as one instruction of an NVIDIA GPU.

`lop3` takes three inputs, of which one may be a constant in the instruction itself. ptxas makes it
of two steps with one constant, but leaves two with two apart: taking bits out of a word and putting
others beside them, as everything does that makes floats of codes, would take two instructions
instead of one and a register.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_STEP = re.compile(r"\t(and|or|xor)\.b32 \t(%r\d+), (%r\d+), (-?\d+);")
# An instruction as LLVM writes it, and what it gives; what users wrote is left to them.
_INSTRUCTION = re.compile(r"\t[\w.:]+ \t(\{[^}]*\}|[^,;]*)[^;]*;(?:\s*//.*)?")
# Where others may come from; those of line tables are for nobody to go to.
_LABEL = re.compile(r"(?!\$L__tmp)[$\w]+:")
_REGISTER = re.compile(r"%r\d+\b")
# What the three inputs are in the number that says which function of them is wanted.
_FIRST, _SECOND, _THIRD = 0xF0, 0xCC, 0xAA
_APPLIED = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}


@dataclass(frozen=True)
class _Step:
    """An input, a constant, and what is done with them in which line."""

    line: int
    name: str
    given: str
    constant: str

    def then(self, name: str) -> int:
        """The function of this step, and of one on what it gives and another constant."""
        return _APPLIED[name](_APPLIED[self.name](_FIRST, _SECOND), _THIRD)


def with_three_inputs(ptx: str) -> str:
    """A module's text with such pairs of steps joined."""
    uses = Counter(_REGISTER.findall(ptx))
    lines: list[str | None] = [*ptx.split("\n")]
    waiting: dict[str, _Step] = {}  # by what they give
    for at, line in enumerate(ptx.split("\n")):
        step = _STEP.fullmatch(line)
        first = waiting.pop(step[3], None) if step else None
        if step and first:
            lines[first.line] = None
            lines[at] = (
                f"\tlop3.b32 \t{step[2]}, {first.given}, {first.constant}, {step[4]}, "
                f"{first.then(step[1])};"
            )
        given = _given_by(line)
        if _LABEL.match(line):
            waiting = {}
        waiting = {name: each for name, each in waiting.items() if each.given not in given}
        # Nobody else wants what is given once and taken once.
        if step and not first and uses[step[2]] == 2 and step[2] != step[3]:
            waiting[step[2]] = _Step(at, step[1], step[3], step[4])
    return "\n".join(line for line in lines if line is not None)


def _given_by(line: str) -> list[str]:
    """The registers that a line may change."""
    instruction = _INSTRUCTION.fullmatch(line)
    return _REGISTER.findall(instruction[1] if instruction else line)
