"""Functions, read from a module's text."""

from __future__ import annotations

import re

from metalbench.msl.ir.model import Block, Function, Part, Value
from metalbench.msl.ir.read_instruction import read_instruction
from metalbench.msl.ir.text import IrError, closing, split
from metalbench.msl.ir.types import Layout, Type, take_type, type_of

_NAMED_TYPE = re.compile(r'(%"[^"]*"|%[\w.$-]+) = type (.*)$')
_LABEL = re.compile(r'("[^"]*"|[\w.$-]+):')


def read_function(module: str, name: str) -> Function:
    """The definition of a function in a module. Raises IrError."""
    lines = module.split("\n")
    start = _find(lines, name)
    end = next(at for at in range(start, len(lines)) if lines[at] == "}")
    head = lines[start]
    opening = head.index(f"@{name}(") + len(name) + 1
    parameters = tuple(
        _parameter(each) for each in split(head[opening + 1 : closing(head, opening)])
    )
    layout = Layout(_named_types(lines[:start]))
    # Unnamed values are counted, parameters first: the entry has the number behind theirs.
    unnamed = sum(1 for each in parameters if each.text[1:].isdigit())
    blocks = _blocks(lines[start + 1 : end], f"%{unnamed}", layout)
    function = Function(
        name, head, parameters, blocks, layout, before=lines[:start], after=lines[end + 1 :]
    )
    _connect(function)
    return function


def _find(lines: list[str], name: str) -> int:
    for at, line in enumerate(lines):
        if line.startswith("define ") and f"@{name}(" in line:
            return at
    raise IrError(f"the module does not define {name}")


def _named_types(lines: list[str]) -> dict[str, Type]:
    found = (_NAMED_TYPE.match(line) for line in lines)
    return {each[1]: type_of(each[2]) for each in found if each and each[2] != "opaque"}


def _parameter(text: str) -> Value:
    type_, rest = take_type(text)
    return Value(type_, rest.split()[-1])


def _blocks(lines: list[str], entry: str, layout: Layout) -> dict[str, Block]:
    blocks: dict[str, Block] = {}
    block: Block | None = None
    for line in _logical(lines):
        if line[0] not in " \t":
            label = _LABEL.match(line)
            if label is None:
                raise IrError(f"no label: {line!r}")
            block = blocks.setdefault(f"%{label[1]}", Block(f"%{label[1]}"))
            continue
        if block is None:
            block = blocks.setdefault(entry, Block(entry))
        instruction = read_instruction(line)
        if isinstance(instruction, Part) and instruction.opcode == "extractvalue":
            for index in instruction.indices:
                instruction.type = layout.member(instruction.type, index)[1]
        block.instructions.append(instruction)
    return blocks


def _logical(lines: list[str]) -> list[str]:
    """Lines with the tables of switches on one, without empty ones and debug records."""
    joined: list[str] = []
    table = False
    for line in lines:
        if table:
            joined[-1] += f" {line.strip()}"
            table = not line.strip().startswith("]")
        elif line.strip() and not line.lstrip().startswith(("#dbg", ";")):
            joined.append(line)
            table = line.lstrip().startswith("switch ") and "]" not in line.rpartition("[")[2]
    return joined


def _connect(function: Function) -> None:
    for block in function.blocks.values():
        for target in dict.fromkeys(block.terminator.targets):
            block.successors.append(function.blocks[target])
            function.blocks[target].predecessors.append(block)
