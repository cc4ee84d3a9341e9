"""Random programs in StableHLO whose results are the same to the last bit wherever they run.

Floats are only added, multiplied and compared: IEEE 754 leaves no choice there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

NUMPY = {"f32": np.float32, "i32": np.int32, "ui8": np.uint8, "i1": np.bool_, "i64": np.int64}
SHAPES = [(), (5,), (2, 3), (3, 2), (4, 1, 3)]


@dataclass
class Builder:
    """A program that grows; values are (name, shape, element type)."""

    draw: Callable
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, tuple[int, ...], str]] = field(default_factory=list)

    def pick(self, wanted: Callable = lambda shape, kind: True):
        found = [each for each in self.values if wanted(each[1], each[2])]
        return self.draw(st.sampled_from(found)) if found else None

    def add(self, text: str, shape, kind) -> None:
        name = f"%{len(self.values)}"
        self.lines.append(f"{name} = {text}")
        self.values.append((name, tuple(shape), kind))


def of(shape, kind) -> str:
    return f"tensor<{''.join(f'{each}x' for each in shape)}{kind}>"


def binary(b: Builder) -> None:
    name, shape, kind = b.pick()
    other, *_ = b.pick(lambda s, k: (s, k) == (shape, kind))
    operations = ["and", "or", "xor"] if kind != "f32" else []
    operations += ["add", "multiply", "maximum", "minimum"]
    if kind not in ("f32", "i1"):
        operations += ["subtract", "divide", "remainder", "shift_left", "shift_right_logical"]
    operation = b.draw(st.sampled_from(operations))
    if operation in ("divide", "remainder"):
        # The reference ends on a division by zero.
        ones = f"stablehlo.constant dense<1> : {of(shape, kind)}"
        b.add(ones, shape, kind)
        b.add(f"stablehlo.or {other}, {b.values[-1][0]} : {of(shape, kind)}", shape, kind)
        other = b.values[-1][0]
    b.add(f"stablehlo.{operation} {name}, {other} : {of(shape, kind)}", shape, kind)


def unary(b: Builder) -> None:
    name, shape, kind = b.pick()
    operations = {"f32": ["abs", "negate", "floor", "sign"], "i1": ["not"]}
    operation = b.draw(st.sampled_from(operations.get(kind, ["negate", "not", "popcnt"])))
    b.add(f"stablehlo.{operation} {name} : {of(shape, kind)}", shape, kind)


def choose(b: Builder) -> None:
    name, shape, kind = b.pick()
    other, *_ = b.pick(lambda s, k: (s, k) == (shape, kind))
    direction, type_ = b.draw(st.sampled_from(["LT", "EQ", "NE", "GE"])), of(shape, kind)
    head = f"stablehlo.compare {direction}, {name}, {other} : ({type_}, {type_})"
    b.add(f"{head} -> {of(shape, 'i1')}", shape, "i1")
    condition = b.values[-1][0]
    types = f"{of(shape, 'i1')}, {type_}"
    b.add(f"stablehlo.select {condition}, {other}, {name} : {types}", shape, kind)


def convert(b: Builder) -> None:
    name, shape, kind = b.pick(lambda s, k: k != "f32")
    to = b.draw(st.sampled_from(["i32", "ui8", "i64", "i1"]))
    b.add(f"stablehlo.convert {name} : ({of(shape, kind)}) -> {of(shape, to)}", shape, to)


def move(b: Builder) -> None:
    name, shape, kind = b.pick(lambda s, k: len(s) == 2)
    way, flipped = b.draw(st.integers(0, 4)), shape[::-1]
    if way == 0:
        b.add(
            f"stablehlo.transpose {name}, dims = [1, 0] : ({of(shape, kind)}) -> "
            f"{of(flipped, kind)}",
            flipped,
            kind,
        )
    elif way == 1:
        b.add(
            f"stablehlo.reshape {name} : ({of(shape, kind)}) -> {of(flipped, kind)}", flipped, kind
        )
    elif way == 2:
        b.add(f"stablehlo.reverse {name}, dims = [1] : {of(shape, kind)}", shape, kind)
    elif way == 3:
        doubled = (2 * shape[0], shape[1])
        b.add(
            f"stablehlo.concatenate {name}, {name}, dim = 0 : ({of(shape, kind)}, "
            f"{of(shape, kind)}) -> {of(doubled, kind)}",
            doubled,
            kind,
        )
        name = b.values[-1][0]
        b.add(
            f"stablehlo.slice {name} [1:{shape[0] + 1}, 0:{shape[1]}] : ({of(doubled, kind)}) "
            f"-> {of(shape, kind)}",
            shape,
            kind,
        )
    else:
        value, *_ = b.pick(lambda s, k: s == () and k == kind)
        size = (shape[0] + 1, 2 * shape[1] - 1)
        b.add(
            f"stablehlo.pad {name}, {value}, low = [1, 0], high = [0, 0], interior = [0, 1] : "
            f"({of(shape, kind)}, {of((), kind)}) -> {of(size, kind)}",
            size,
            kind,
        )


def broadcast(b: Builder) -> None:
    name, shape, kind = b.pick(lambda s, k: s in ((), (5,)))
    to = (2, 3) if shape == () else (5, 2)
    dims = "[]" if shape == () else "[0]"
    b.add(
        f"stablehlo.broadcast_in_dim {name}, dims = {dims} : ({of(shape, kind)}) -> {of(to, kind)}",
        to,
        kind,
    )


def reduce(b: Builder) -> None:
    name, shape, kind = b.pick(lambda s, k: len(s) == 2 and k != "f32")
    initial, *_ = b.pick(lambda s, k: s == () and k == kind)
    axis, operation = b.draw(st.integers(0, 1)), b.draw(st.sampled_from(["add", "maximum"]))
    left = (shape[1 - axis],)
    b.add(
        f"stablehlo.reduce({name} init: {initial}) applies stablehlo.{operation} across "
        f"dimensions = [{axis}] : ({of(shape, kind)}, {of((), kind)}) -> {of(left, kind)}",
        left,
        kind,
    )


def product(b: Builder) -> None:
    name, shape, kind = b.pick(lambda s, k: len(s) == 2 and k in ("i32", "i64"))
    size = (shape[0], shape[0])
    b.add(
        f"stablehlo.dot_general {name}, {name}, contracting_dims = [1] x [1] : "
        f"({of(shape, kind)}, {of(shape, kind)}) -> {of(size, kind)}",
        size,
        kind,
    )


STEPS = [binary, binary, unary, choose, convert, move, move, broadcast, reduce, product]


@dataclass(repr=False)
class Example:
    """A program's text, and what it takes."""

    text: str
    arguments: list[np.ndarray]


@st.composite
def programs(draw, length: int = 14):
    """Text of a program, and arguments of every shape and type; the last values are its results."""
    builder, arguments = Builder(draw), []
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    for kind, numpy in NUMPY.items():
        for shape in SHAPES:
            builder.values.append((f"%{len(builder.values)}", shape, kind))
            numbers = generator.integers(0, 2 if kind == "i1" else 60, shape)
            arguments.append(np.asarray(numbers).astype(numpy))
    head = ", ".join(f"{name}: {of(shape, kind)}" for name, shape, kind in builder.values)
    count = len(builder.values)
    for _ in range(length):
        draw(st.sampled_from(STEPS))(builder)
    made = builder.values[count:]
    results = [made[-1], made[len(made) // 2]]
    names = ", ".join(each[0] for each in results)
    types = ", ".join(of(shape, kind) for _, shape, kind in results)
    body = "\n".join([*builder.lines, f"return {names} : {types}"])
    return Example(f"func.func @main({head}) -> ({types}) {{\n{body}\n}}", arguments)
