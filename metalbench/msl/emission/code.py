"""The text of a function of LLVM IR as it grows, with fresh names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, Float, Int, Pointer, Type

_FLOATS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


class Code:
    """Lines of a function that works on `width` lanes at a time.

    `place` is the reference to the source's line that new lines are given.
    """

    def __init__(self, width: int, place: str = "") -> None:
        self.width = width
        self.place = place
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.declarations: dict[str, str] = {}
        self._names = 0
        self._free: dict[tuple[str, int], list[str]] = {}
        self._rows: list[tuple[tuple[str, int], str]] = []

    def fresh(self, stem: str = "v") -> str:
        """A name that nothing has yet, without its %."""
        self._names += 1
        return f"{stem}.{self._names}"

    def line(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {text}, !dbg {self.place}" if self.place else f"  {text}")

    def value(self, text: str) -> str:
        """An instruction's result."""
        self._names += 1
        name = f"%v.{self._names}"
        self.line(f"{name} = {text}")
        return name

    def label(self, name: str) -> None:
        """A block begins."""
        self.lines.append(f"{name}:")

    def jump(self, name: str) -> None:
        """A block ends, and goes on with that one."""
        self.line(f"br label %{name}")

    def fork(self, condition: str, yes: str, no: str) -> None:
        """A block ends, and goes on with one of two."""
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")

    def variable(self, type_: str, alignment: int = 0, *, zero: bool = False) -> str:
        """Memory of the function's own, there from its start."""
        self._names += 1
        name = f"%m.{self._names}"
        aligned = f", align {alignment}" if alignment else ""
        self.entry.append(f"  {name} = alloca {type_}{aligned}")
        if zero:
            self.entry.append(f"  store {type_} zeroinitializer, ptr {name}")
        return name

    def row(self, type_: str, alignment: int) -> str:
        """Memory that nobody needs behind the `scratch` that it is taken in."""
        free = self._free.setdefault((type_, alignment), [])
        name = free.pop() if free else self.variable(type_, alignment)
        self._rows.append(((type_, alignment), name))
        return name

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """Rows that are taken in between are others' again behind it."""
        outer, self._rows = self._rows, []
        yield
        for kind, name in self._rows:
            self._free[kind].append(name)
        self._rows = outer

    def call(
        self, name: str, result: str, arguments: Sequence[tuple[str, str]], *, flags: str = ""
    ) -> str:
        """Call a function that is declared with the types of these arguments; its result."""
        given = ", ".join(f"{type_} {value}" for type_, value in arguments)
        declared = ", ".join(type_ for type_, _ in arguments)
        self.declarations.setdefault(name, f"declare {result} @{name}({declared})")
        text = f"call {flags}{result} @{name}({given})"
        if result == "void":
            self.line(text)
            return ""
        return self.value(text)

    def number(self, mask: str) -> str:
        """A mask as a number."""
        return self.value(f"bitcast {self.mask} {mask} to {self.bits}")

    def first(self, bits: str) -> str:
        """The first lane of a mask that is given as a number, and not empty."""
        return self.call(f"llvm.cttz.{self.bits}", self.bits, [(self.bits, bits), ("i1", "true")])

    def among(self, mask: str, condition: str) -> str:
        """Those lanes of a mask that a condition holds for; the others' may be undefined."""
        if not mask:
            return condition
        return self.value(
            f"select {self.mask} {mask}, {self.mask} {condition}, {self.mask} zeroinitializer"
        )

    def lanes(self, type_: Type | str) -> str:
        """The type of one value of this type for every lane."""
        return f"<{self.width} x {type_}>"

    @property
    def mask(self) -> str:
        """The type of a mask."""
        return f"<{self.width} x i1>"

    @property
    def bits(self) -> str:
        """The type of a mask as a number."""
        return f"i{self.width}"


def numbers(type_: Type | str, values: Sequence[int]) -> str:
    """A constant vector of numbers."""
    return f"<{', '.join(f'{type_} {value}' for value in values)}>"


def places(values: Sequence[int]) -> str:
    """The operand of a shuffle that says which elements to take; -1 is any."""
    items = ", ".join("i32 poison" if value < 0 else f"i32 {value}" for value in values)
    return f"<{len(values)} x i32> <{items}>"


def literal(type_: Type, value: int) -> str:
    """An integral constant as IR has it, of unsigned bits or a signed number."""
    if type_ == BOOL:
        return "true" if value & 1 else "false"
    if not isinstance(type_, Int):
        raise IrError(f"{type_} {value}")
    value &= (1 << type_.bits) - 1
    return str(value - (1 << type_.bits) if value >> (type_.bits - 1) else value)


def suffix(type_: Type) -> str:
    """What the name of an intrinsic says of an operand's type."""
    if isinstance(type_, Int):
        return f"i{type_.bits}"
    if isinstance(type_, Float) and type_.name in _FLOATS:
        return _FLOATS[type_.name]
    if isinstance(type_, Pointer):
        return f"p{type_.space}"
    raise IrError(f"no intrinsic takes {type_}")
