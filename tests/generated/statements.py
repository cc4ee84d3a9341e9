"""Statements of generated programs."""

from __future__ import annotations

from dataclasses import dataclass

from generated.terms import Expression, Node


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
    """A copy of a whole struct, within a private array."""

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
    """An update of one of the cells in device memory that this operation has."""

    operation: str
    index: Expression
    value: Expression


@dataclass
class Fetch(Statement):
    """Declares what was in the thread's own cell of `mine` before an atomic operation on it."""

    name: str
    operation: str
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
