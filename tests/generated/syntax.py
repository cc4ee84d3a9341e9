"""Programs as trees: what the generator makes, the text is written from, and the model runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from generated.terms import (
    AnyShared,
    Binary,
    Builtin,
    Cast,
    Choice,
    Compare,
    Component,
    Either,
    Element,
    Expression,
    Literal,
    Load,
    Logic,
    Make,
    Name,
    Node,
    OwnOutput,
    OwnShared,
    Recast,
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
    "For",
    "Function",
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
    "Tally",
    "Together",
    "Unary",
    "UserCall",
    "While",
    "children",
    "every",
]


@dataclass
class Statement(Node):
    """Something that is done."""


Block = list[Statement]


@dataclass
class Declare(Statement):
    name: str
    value: Expression


@dataclass
class DeclareArray(Statement):
    """A private array of zeros; `type` is a scalar, a vector or the name of a struct."""

    name: str
    type: str
    size: int


@dataclass
class Assign(Statement):
    target: Expression
    value: Expression


@dataclass
class Copy(Statement):
    """Of a whole struct, within a private array."""

    array: str
    target: Expression
    source: Expression


@dataclass
class If(Statement):
    condition: Expression
    yes: Block
    no: Block


@dataclass
class For(Statement):
    """`counter` goes up from 0 (or down to it, if `down`) by one, below `limit`."""

    counter: str
    type: str
    limit: Expression
    body: Block
    down: bool = False


@dataclass
class While(Statement):
    """For `turns` at most; `after` asks behind the body."""

    counter: str
    turns: int
    condition: Expression
    body: Block
    after: bool = False


@dataclass
class Case(Node):
    labels: list[int]
    body: Block
    falls: bool


@dataclass
class Switch(Statement):
    """The last case is the default; it has no labels."""

    value: Expression
    cases: list[Case]


@dataclass
class Break(Statement):
    pass


@dataclass
class Continue(Statement):
    pass


@dataclass
class Return(Statement):
    """Without a value where the kernel returns."""

    value: Expression | None


@dataclass
class Fence(Statement):
    """`simdgroup_barrier`, at which lanes wait and nothing else happens."""


@dataclass
class AtomicUpdate(Statement):
    """Of one of the cells in device memory that this operation has."""

    operation: str
    index: Expression
    value: Expression


@dataclass
class Exchange(Statement):
    """Every thread writes what it owns of `array`; after a barrier all read what they like."""

    array: str
    writes: Block
    reads: Block


@dataclass
class Tally(Statement):
    """Atomic updates of threadgroup memory between barriers, by one operation; then `reads`."""

    array: str
    operation: str
    updates: Block
    reads: Block


@dataclass
class SharedUpdate(Statement):
    """An atomic update within a tally."""

    array: str
    operation: str
    index: Expression
    value: Expression


@dataclass
class Function(Node):
    """`result` is what comes out at the end of the body."""

    name: str
    type: str
    parameters: list[tuple[str, str]]
    body: Block
    result: Expression
    inlined: bool


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
