"""Functions, read from a module's text."""

from __future__ import annotations

import re

from metalbench.msl.ir.model import (
    BasicBlock,
    DebugRecord,
    Function,
    Instruction,
    Value,
    lazy_instruction,
)
from metalbench.msl.ir.read_instruction import read_fields
from metalbench.msl.ir.text import IrError, closing, split
from metalbench.msl.ir.types import Layout, NamedTypes, take_type

_NAMED_TYPE = re.compile(r'^(%"[^"]*"|%[\w.$-]+) = type (?!opaque)(.*)$', re.M)
_LABEL = re.compile(r'("[^"]*"|[\w.$-]+):')
_FUNCTION_NAME = re.compile(r'@("[^"]*"|[\w.$-]+)\(')


def read_function(function: Function) -> Function:
    """Read a function of a module at once, and return it without debug records and texts.

    The fields of its instructions may then be assigned to. Raises IrError.
    """
    for block in function.blocks.values():
        block.instructions = [
            each for each in block.instructions if not isinstance(each, DebugRecord)
        ]
        for each in block.instructions:
            each.read()
            each.text = ""
    function.connect()
    return function


def lazy_function(text: str, layout: Layout) -> Function:
    """Return the function of a definition's text. Its blocks are read at the first access."""
    function = Function.__new__(Function)
    function.text, function.layout = text, layout
    function.head = text[: text.index("\n")]
    found = _FUNCTION_NAME.search(function.head)
    if found is None:
        raise IrError(f"no function: {function.head!r}")
    function.name = found[1]
    return function


def layout_of(text: str) -> Layout:
    """Return the layout of the types that a module's text names."""
    return Layout(NamedTypes(dict(_NAMED_TYPE.findall(text))))


def _read_parameters(function: Function) -> None:
    """Set the parameters of a function. Raises IrError."""
    head = function.head
    opening = head.index(f"@{function.name}(") + len(function.name) + 1
    function.parameters = tuple(
        _parameter(each) for each in split(head[opening + 1 : closing(head, opening)])
    )


def _parameter(text: str) -> Value:
    type_, rest = take_type(text)
    return Value(type_, rest.split()[-1])


def _read_blocks(function: Function) -> None:
    """Set the blocks of a function. Raises IrError."""
    blocks: dict[str, BasicBlock] = {}
    instructions: list[Instruction] | None = None
    head: list[str] = []  # empty lines and comments, which belong to the label behind them
    layout = function.layout
    in_table = False  # of a switch
    for text in function.text.split("\n")[1:-1]:
        if in_table and instructions is not None:
            instructions[-1].text += f"\n{text}"
            in_table = not text.lstrip().startswith("]")
        elif text[:1] in (" ", "\t") and not text.isspace():
            if instructions is None:
                instructions = _add_block(function, _name_entry(function), "", blocks)
            if head:
                lines = "\n".join(["", *head])
                if instructions:
                    instructions[-1].text += lines
                else:
                    [*blocks.values()][-1].head += lines
                head.clear()
            made = lazy_instruction(text, layout)
            instructions.append(made)
            in_table = made.opcode == "switch" and "]" not in text.rpartition("[")[2]
        elif not text or text[0] == ";" or text.isspace():
            head.append(text)
        else:
            label = _LABEL.match(text)
            if label is None:
                raise IrError(f"no label: {text!r}")
            name = f"%{label[1]}"
            instructions = _add_block(function, name, "\n".join([*head, text]), blocks)
            head.clear()
    function.blocks = blocks


def _name_entry(function: Function) -> str:
    """Return the name of an entry without a label.

    Unnamed values are counted, parameters first: the entry has the number behind theirs.
    """
    return f"%{sum(1 for each in function.parameters if each.text[1:].isdigit())}"


def _add_block(
    function: Function, name: str, head: str, blocks: dict[str, BasicBlock]
) -> list[Instruction]:
    """Add a block and return its instructions, none yet."""
    block = BasicBlock.__new__(BasicBlock)
    block.name, block.function, block.head, block.instructions = name, function, head, []
    blocks[name] = block
    return block.instructions


Instruction.read = read_fields
Function.read_blocks = _read_blocks
Function.read_parameters = _read_parameters
