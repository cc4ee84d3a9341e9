"""A function of LLVM IR: blocks of instructions on typed values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from metalbench.msl.ir.types import VOID, Layout, Type

_INTEGER = re.compile(r"-?\d+$")


class Value(NamedTuple):
    """What an instruction works on: `%name` of the function, `@name` of the module, a constant."""

    type: Type
    text: str

    def __str__(self) -> str:
        return f"{self.type} {self.text}"

    @property
    def is_local(self) -> bool:
        """Whether an instruction, or an argument, gives it."""
        return self.text.startswith("%")

    @property
    def is_undefined(self) -> bool:
        """Whether it may be anything."""
        return self.text in ("undef", "poison")

    @property
    def integer(self) -> int | None:
        """Of an integral constant, with the sign that it is written with; else None."""
        if self.text in ("true", "false"):
            return int(self.text == "true")
        return int(self.text) if _INTEGER.match(self.text) else None


@dataclass(slots=True, kw_only=True)
class Instruction:
    """`result` is empty where nothing comes out; `type` is the result's.

    `flags` are words such as `nuw` and `nnan`; `place` is the reference to the source's line.
    """

    opcode: str
    result: str = ""
    type: Type = VOID
    operands: tuple[Value, ...] = ()
    flags: tuple[str, ...] = ()
    place: str = ""


@dataclass(slots=True, kw_only=True)
class Compare(Instruction):
    """`icmp` and `fcmp`."""

    predicate: str


@dataclass(slots=True, kw_only=True)
class ElementPointer(Instruction):
    """`getelementptr`: the base, then the indices, into elements of the type `element`."""

    element: Type


@dataclass(slots=True, kw_only=True)
class Memory(Instruction):
    """`load` (the address) and `store` (the value, the address); `ordering` of atomic ones."""

    alignment: int = 1
    volatile: bool = False
    ordering: str = ""

    @property
    def address(self) -> Value:
        """Where."""
        return self.operands[-1]

    @property
    def accessed(self) -> Type:
        """What."""
        return self.type if self.opcode == "load" else self.operands[0].type


@dataclass(slots=True, kw_only=True)
class Alloca(Instruction):
    """`alloca`; of a number that is not known before it runs, `count` is that."""

    allocated: Type
    alignment: int = 1
    count: Value | None = None


@dataclass(slots=True, kw_only=True)
class Phi(Instruction):
    """`phi`: an operand for each of the blocks that it may come from."""

    sources: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Terminator(Instruction):
    """`br`, `switch`, `ret`, `unreachable`; of a switch `cases`, and the default target first."""

    targets: tuple[str, ...] = ()
    cases: tuple[int, ...] = ()
    loop: str = ""  # the reference to what is said of a loop, of a back edge


@dataclass(slots=True, kw_only=True)
class Call(Instruction):
    """`call`; `callee` is `@name` or a local value, or inline assembly."""

    callee: str
    before: str = ""  # attributes of the result, and the calling convention
    attributes: str = ""  # of the call itself, such as `#3`
    parameters: tuple[str, ...] = ()  # attributes of each operand

    @property
    def name(self) -> str:
        """Of the function, without `@`; empty for what has none."""
        return self.callee[1:] if self.callee.startswith("@") else ""


@dataclass(slots=True, kw_only=True)
class Part(Instruction):
    """`extractvalue` and `insertvalue`: where in the struct or array."""

    indices: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class Shuffle(Instruction):
    """`shufflevector`: which element of both operands goes where; -1 is any."""

    mask: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class Atomic(Instruction):
    """`atomicrmw` (`operation` is `add` and so on), `cmpxchg`, `fence`; `orderings` as written."""

    operation: str = ""
    orderings: tuple[str, ...] = ()
    volatile: bool = False
    weak: bool = False
    alignment: int = 0
    scope: str = ""


@dataclass(slots=True, eq=False)
class Block:
    """Instructions in order; the last one is a Terminator. Compared by identity."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)
    predecessors: list[Block] = field(default_factory=list)
    successors: list[Block] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<Block {self.name}>"

    @property
    def terminator(self) -> Terminator:
        """Where it goes on."""
        last = self.instructions[-1]
        assert isinstance(last, Terminator)
        return last

    @property
    def phis(self) -> Iterator[Phi]:
        """Those that it begins with."""
        for each in self.instructions:
            if not isinstance(each, Phi):
                break
            yield each


@dataclass(slots=True)
class Function:
    """A definition. `head` is its line, `parameters` its named values; the first block is entered.

    `before` and `after` are the module's lines around it.
    """

    name: str
    head: str
    parameters: tuple[Value, ...]
    blocks: dict[str, Block]
    layout: Layout
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    @property
    def entry(self) -> Block:
        """The block that is entered."""
        return next(iter(self.blocks.values()))

    @property
    def instructions(self) -> Iterator[tuple[Block, Instruction]]:
        """All of them, with their block."""
        for block in self.blocks.values():
            for each in block.instructions:
                yield block, each

    def definitions(self) -> Mapping[str, Instruction]:
        """Which instruction gives which value."""
        return {each.result: each for _, each in self.instructions if each.result}
