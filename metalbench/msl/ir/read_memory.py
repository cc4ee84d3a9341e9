"""Instructions that reach memory, read from the lines in which clang writes them."""

from __future__ import annotations

import re

from metalbench.msl.ir.model import Alloca, Atomic, Instruction, Memory
from metalbench.msl.ir.operands import typed
from metalbench.msl.ir.text import split
from metalbench.msl.ir.types import BOOL, Struct, type_of

_ALIGN = re.compile(r"align (\d+)")
_SCOPE = re.compile(r'syncscope\("([^"]*)"\)\s*')


def read_memory(opcode: str, text: str) -> Instruction:
    """`load` and `store`."""
    words = []
    while text.startswith(("atomic ", "volatile ")):
        word, _, text = text.partition(" ")
        words.append(word)
    first, second, *rest = split(text)
    ordering = ""
    if "atomic" in words:
        second, _, ordering = _SCOPE.sub("", second).rpartition(" ")
    address = typed(second)
    stored = () if opcode == "load" else (typed(first),)
    memory = Memory(
        opcode=opcode,
        operands=(*stored, address),
        alignment=_alignment(rest),
        volatile="volatile" in words,
        ordering=ordering,
    )
    if opcode == "load":
        memory.type = type_of(first)
    return memory


def read_alloca(opcode: str, text: str) -> Instruction:
    """`alloca`."""
    allocated, *rest = split(text)
    counts = [each for each in rest if not each.startswith(("align", "addrspace"))]
    return Alloca(
        opcode=opcode,
        type=type_of("ptr"),
        allocated=type_of(allocated),
        alignment=_alignment(rest),
        count=typed(counts[0]) if counts else None,
    )


def read_atomic(opcode: str, text: str) -> Instruction:
    """`atomicrmw`, `cmpxchg`, `fence`."""
    words = []
    while text.startswith(("weak ", "volatile ")):
        word, _, text = text.partition(" ")
        words.append(word)
    scope = _SCOPE.search(text)
    text = _SCOPE.sub("", text)
    operation = ""
    if opcode == "atomicrmw":
        operation, _, text = text.partition(" ")
    items = split(text)
    aligned = [each for each in items if each.startswith("align")]
    operands = [each for each in items if not each.startswith("align")]
    orderings: tuple[str, ...] = ()
    if opcode == "fence":
        orderings, operands = (operands[0],), []
    else:
        head, value, *ordering = operands[-1].split()
        orderings, operands[-1] = tuple(ordering), f"{head} {value}"
    values = tuple(map(typed, operands))
    instruction = Atomic(
        opcode=opcode,
        operands=values,
        operation=operation,
        orderings=orderings,
        volatile="volatile" in words,
        weak="weak" in words,
        alignment=_alignment(aligned, 0),
        scope=scope[1] if scope else "",
    )
    if opcode == "atomicrmw":
        instruction.type = values[1].type
    elif opcode == "cmpxchg":
        instruction.type = Struct((values[2].type, BOOL))
    return instruction


def _alignment(parts: list[str], default: int = 1) -> int:
    return next((int(found[1]) for each in parts if (found := _ALIGN.match(each))), default)
