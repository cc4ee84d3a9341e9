"""Expressions of generated programs, and what every part of one has."""

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
    """An operation on operands of one type. Sums of integers wrap unless they are `plain`."""

    operator: str
    left: Expression
    right: Expression
    plain: bool = False


@dataclass
class Below(Expression):
    """`operand % size`, which is below `size` whatever becomes of the operand."""

    operand: Expression
    size: int


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
class Given(Node):
    """Private memory for a function: a pointer to one of an array's first `choices` elements.

    Or a copy of one.
    """

    array: str
    index: Expression
    choices: int
    copied: bool


@dataclass
class UserCall(Expression):
    """`arrays` is the private memory that the function takes, `reads` what else it is given."""

    function: str
    operands: list[Expression]
    arrays: list[Given] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)


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
class Swizzle(Expression):
    """Components of a vector, by their letters; may be assigned to where none comes twice."""

    vector: Expression
    letters: str


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
class Either(Expression):
    """An element of one of two private arrays, by a pointer that is chosen first."""

    condition: Expression
    yes: str
    no: str
    index: Expression


@dataclass
class OwnShared(Expression):
    """This thread's own element of a threadgroup array, between barriers."""

    array: str


@dataclass
class AnyShared(Expression):
    """The element of a threadgroup array that some thread owns."""

    array: str
    index: Expression


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
