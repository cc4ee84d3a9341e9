"""Programs as trees: what the generator makes, the text is written from, and the model runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields


@dataclass
class Node:
    """A part of a program."""


@dataclass
class Expression(Node):
    """Something with a value of `type`."""

    type: str


@dataclass
class Literal(Expression):
    value: float


@dataclass
class Name(Expression):
    """A variable, or one of the places that a thread has in its launch."""

    name: str


@dataclass
class Unary(Expression):
    """`-`, `~` or `!`."""

    operator: str
    operand: Expression


@dataclass
class Binary(Expression):
    """Of operands of one type; sums of integers wrap, unless they are `plain`, and never would."""

    operator: str
    left: Expression
    right: Expression
    plain: bool = False


@dataclass
class Compare(Expression):
    operator: str
    left: Expression
    right: Expression


@dataclass
class Logic(Expression):
    """`&&` or `||`: the right side is for some lanes only."""

    operator: str
    left: Expression
    right: Expression


@dataclass
class Cast(Expression):
    operand: Expression


@dataclass
class Recast(Expression):
    """`as_type`."""

    operand: Expression


@dataclass
class Choice(Expression):
    """`condition ? yes : no`."""

    condition: Expression
    yes: Expression
    no: Expression


@dataclass
class Builtin(Expression):
    """A function of the standard library that every lane computes by itself."""

    function: str
    operands: list[Expression]


@dataclass
class Together(Expression):
    """A function of a SIMD-group or quad."""

    function: str
    operands: list[Expression]


@dataclass
class UserCall(Expression):
    function: str
    operands: list[Expression]


@dataclass
class Make(Expression):
    """A vector of its components."""

    parts: list[Expression]


@dataclass
class Component(Expression):
    """`vector[index]`."""

    vector: Expression
    index: Expression


@dataclass
class Load(Expression):
    """An element of an input buffer."""

    buffer: str
    index: Expression


@dataclass
class OwnOutput(Expression):
    """One of the elements of an output that are this thread's own; may be assigned to."""

    buffer: str
    slot: int


@dataclass
class Element(Expression):
    """`array[index]` of private memory, `array[index].member`, or one byte of it."""

    array: str
    index: Expression
    member: str = ""
    byte: bool = False


@dataclass
class OwnShared(Expression):
    """This thread's own element of a threadgroup array, between barriers."""

    array: str


@dataclass
class AnyShared(Expression):
    """The element of a threadgroup array that some thread owns."""

    array: str
    index: Expression


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


def children(node: Node) -> Iterator[Node]:
    """The parts directly inside of one."""
    for each in fields(node):
        value = getattr(node, each.name)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Node):
                yield part


def every(node: Node) -> Iterator[Node]:
    """A part and all that is inside of it."""
    yield node
    for child in children(node):
        yield from every(child)
