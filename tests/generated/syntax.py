"""Programs as trees: what the generator makes, the text is written from, and the model runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from generated.statements import (
    Assign,
    AtomicUpdate,
    Block,
    Break,
    Case,
    Continue,
    Copy,
    Declare,
    DeclareArray,
    Exchange,
    Fence,
    Fetch,
    For,
    If,
    Return,
    SharedUpdate,
    Statement,
    Switch,
    Tally,
    While,
)
from generated.terms import (
    AnyShared,
    Below,
    Binary,
    Builtin,
    Cast,
    Choice,
    Compare,
    Component,
    Either,
    Element,
    Expression,
    Given,
    Literal,
    Load,
    Logic,
    Make,
    Name,
    Node,
    OwnOutput,
    OwnShared,
    Recast,
    Swizzle,
    Together,
    Unary,
    UserCall,
    children,
    every,
)

__all__ = [
    "AnyShared",
    "Assign",
    "AtomicUpdate",
    "Below",
    "Binary",
    "Block",
    "Break",
    "Buffer",
    "Builtin",
    "Case",
    "Cast",
    "Choice",
    "Compare",
    "Component",
    "Continue",
    "Copy",
    "Declare",
    "DeclareArray",
    "Either",
    "Element",
    "Exchange",
    "Expression",
    "Fence",
    "Fetch",
    "For",
    "Function",
    "Given",
    "If",
    "Literal",
    "Load",
    "Logic",
    "Make",
    "Name",
    "Node",
    "Output",
    "OwnOutput",
    "OwnShared",
    "Program",
    "Recast",
    "Return",
    "Shared",
    "SharedUpdate",
    "Statement",
    "Struct",
    "Switch",
    "Swizzle",
    "Taken",
    "Tally",
    "Together",
    "Unary",
    "UserCall",
    "While",
    "children",
    "every",
]


@dataclass
class Taken(Node):
    """A parameter for private memory: a pointer to `size` elements, or the copy of one struct."""

    name: str
    type: str
    size: int
    copied: bool


@dataclass
class Function(Node):
    """`result` is what comes out at the end of the body.

    Of private memory it takes `arrays`, of device memory it is given the inputs that it `reads`.
    """

    name: str
    type: str
    parameters: list[tuple[str, str]]
    body: Block
    result: Expression
    inlined: bool
    arrays: list[Taken] = field(default_factory=list)
    reads: list[Buffer] = field(default_factory=list)


@dataclass
class Buffer(Node):
    """An input of `size` elements, drawn from `seed`."""

    name: str
    type: str
    size: int
    seed: int


@dataclass
class Output(Node):
    """`slots` elements for every thread; `order` says where."""

    name: str
    type: str
    slots: int
    order: str


@dataclass
class Shared(Node):
    """A threadgroup array with an element for every thread; `order` says where."""

    name: str
    type: str
    order: str


@dataclass
class Struct(Node):
    """A type of private arrays: names of members and their types."""

    name: str
    members: list[tuple[str, str]]


@dataclass
class Program(Node):
    """A kernel and its launch; `grid` is in threads."""

    seed: int
    threads: tuple[int, int, int]
    grid: tuple[int, int, int]
    body: Block
    inputs: list[Buffer] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    shared: list[Shared] = field(default_factory=list)
    structs: list[Struct] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Threads of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]
