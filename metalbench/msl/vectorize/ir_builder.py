"""Builder of the text of an LLVM IR function, with fresh names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from metalbench.msl.ir.intrinsics import overload_suffix
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, Float, Int, Type


class IrBuilder:
    """Lines of a function that works on `width` lanes at a time.

    `debug_location` is the metadata reference that new lines get.
    """

    def __init__(self, width: int, place: str = "") -> None:
        self.width = width
        self.debug_location = place
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.declarations: dict[str, str] = {}
        self._names = 0
        self._free: dict[tuple[str, int], list[str]] = {}
        self._rows: list[tuple[tuple[str, int], str]] = []

    def make_name(self, stem: str = "v") -> str:
        """Return a new name, without the %."""
        self._names += 1
        return f"{stem}.{self._names}"

    def emit_void(self, text: str) -> None:
        """Emit an instruction without a result."""
        self.lines.append(
            f"  {text}, !dbg {self.debug_location}" if self.debug_location else f"  {text}"
        )

    def emit(self, text: str) -> str:
        """Emit an instruction, and return the name of its result."""
        self._names += 1
        name = f"%v.{self._names}"
        self.emit_void(f"{name} = {text}")
        return name

    def start_block(self, name: str) -> None:
        """Start a block."""
        self.lines.append(f"{name}:")

    def branch(self, name: str) -> None:
        """End a block with an unconditional branch."""
        self.emit_void(f"br label %{name}")

    def branch_if(self, condition: str, yes: str, no: str) -> None:
        """End a block with a conditional branch."""
        self.emit_void(f"br i1 {condition}, label %{yes}, label %{no}")

    def alloca(self, type_: str, alignment: int = 0, *, zero: bool = False) -> str:
        """Emit an alloca in the entry block, and return its address."""
        self._names += 1
        name = f"%m.{self._names}"
        aligned = f", align {alignment}" if alignment else ""
        self.entry.append(f"  {name} = alloca {type_}{aligned}")
        if zero:
            self.entry.append(f"  store {type_} zeroinitializer, ptr {name}")
        return name

    def take_row(self, type_: str, alignment: int) -> str:
        """Return memory that is reused after the current `scratch_scope`."""
        free = self._free.setdefault((type_, alignment), [])
        name = free.pop() if free else self.alloca(type_, alignment)
        self._rows.append(((type_, alignment), name))
        return name

    @contextmanager
    def scratch_scope(self) -> Iterator[None]:
        """Free all rows that are taken inside of this context."""
        outer, self._rows = self._rows, []
        yield
        for kind, name in self._rows:
            self._free[kind].append(name)
        self._rows = outer

    def call(
        self, name: str, result: str, arguments: Sequence[tuple[str, str]], *, flags: str = ""
    ) -> str:
        """Call a function, declare it with the types of these arguments, and return its result."""
        given = ", ".join(f"{type_} {value}" for type_, value in arguments)
        declared = ", ".join(type_ for type_, _ in arguments)
        self.declarations.setdefault(name, f"declare {result} @{name}({declared})")
        text = f"call {flags}{result} @{name}({given})"
        if result == "void":
            self.emit_void(text)
            return ""
        return self.emit(text)

    def mask_to_bits(self, mask: str) -> str:
        """Return a mask as an integer."""
        return self.emit(f"bitcast {self.mask_type} {mask} to {self.bits_type}")

    def first_lane(self, bits: str) -> str:
        """Return the first lane of a mask that is an integer other than 0."""
        return self.call(
            f"llvm.cttz.{self.bits_type}", self.bits_type, [(self.bits_type, bits), ("i1", "true")]
        )

    def mask_and(self, mask: str, condition: str) -> str:
        """Return the lanes of a mask for which a condition holds. Other lanes may be poison."""
        if not mask:
            return condition
        kind = self.mask_type
        return self.emit(f"select {kind} {mask}, {kind} {condition}, {kind} zeroinitializer")

    def vector_type(self, type_: Type | str) -> str:
        """Return the type of a vector with one element per lane."""
        return f"<{self.width} x {type_}>"

    @property
    def mask_type(self) -> str:
        """The type of a mask."""
        return f"<{self.width} x i1>"

    @property
    def bits_type(self) -> str:
        """The type of a mask as an integer."""
        return f"i{self.width}"


def format_vector(type_: Type | str, values: Sequence[int]) -> str:
    """Return a constant vector."""
    return f"<{', '.join(f'{type_} {value}' for value in values)}>"


def format_shuffle_mask(values: Sequence[int]) -> str:
    """Return the mask operand of a `shufflevector`; -1 is poison."""
    items = ", ".join("i32 poison" if value < 0 else f"i32 {value}" for value in values)
    return f"<{len(values)} x i32> <{items}>"


def format_integer(type_: Type, value: int) -> str:
    """Return an integer constant as text of LLVM IR, from unsigned bits or a signed number."""
    if type_ == BOOL:
        return "true" if value & 1 else "false"
    if not isinstance(type_, Int):
        raise IrError(f"{value} is not a constant of type {type_}")
    value &= (1 << type_.bits) - 1
    return str(value - (1 << type_.bits) if value >> (type_.bits - 1) else value)


# Intrinsics, and instructions of the same kind, on vectors of any length.

_HALF = Float("half")
# For vectors of halves LLVM would call a library function, which is not linked.
_HALF_MINMAX = {"llvm.minnum": "olt", "llvm.maxnum": "ogt"}


def combine_vectors(
    ir: IrBuilder, name: str, kind: Type, one: str, other: str, *, count: int, flags: str = ""
) -> str:
    """Combine two vectors of `count` elements by an instruction or an intrinsic."""
    vector = f"<{count} x {kind}>"
    if kind == _HALF and name in _HALF_MINMAX:
        return _emit_half_minmax(ir, _HALF_MINMAX[name], vector, count, (one, other))
    if name.startswith("llvm."):
        given = [(vector, one), (vector, other)]
        return ir.call(f"{name}.v{count}{overload_suffix(kind)}", vector, given, flags=flags)
    return ir.emit(f"{name} {flags}{vector} {one}, {other}")


def emit_masked_gather(  # noqa: PLR0917 - as the intrinsic has them
    ir: IrBuilder, kind: Type, addresses: str, active: str, otherwise: str, alignment: int
) -> str:
    """Load the elements at the active lanes' addresses; other lanes get those of `otherwise`."""
    lanes = ir.vector_type(kind)
    arguments = [
        (ir.vector_type("ptr"), addresses),
        ("i32", str(alignment)),
        (ir.mask_type, active),
        (lanes, otherwise),
    ]
    name = f"llvm.masked.gather.v{ir.width}{overload_suffix(kind)}.v{ir.width}p0"
    return ir.call(name, lanes, arguments)


def _emit_half_minmax(
    ir: IrBuilder, relation: str, vector: str, count: int, pair: tuple[str, str]
) -> str:
    """Return minnum or maxnum of halves: the second if it compares so, or if the first is NaN."""
    one, other = pair
    truth = f"<{count} x i1>"
    beyond = ir.emit(f"fcmp {relation} {vector} {other}, {one}")
    none = ir.emit(f"fcmp uno {vector} {one}, zeroinitializer")
    second = ir.emit(f"or {truth} {beyond}, {none}")
    return ir.emit(f"select {truth} {second}, {vector} {other}, {vector} {one}")
