"""Draw random StableHLO programs whose results are the same bits on every implementation.

Floats are only added, multiplied and compared, for which IEEE 754 determines the result.
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
    """A program under construction; values are (name, shape, element type)."""

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
        # The reference interpreter does not support a division by zero.
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


def several(b: Builder, count: int, wanted: Callable = lambda shape, kind: True):
    """Return values of any shapes and types; a value may occur twice."""
    return [b.pick(wanted) for _ in range(count)]


def add_results(b: Builder, text: str, types) -> None:
    """Add an operation with several results; each becomes a value."""
    if len(types) == 1:
        b.add(text, *types[0])
        return
    name = f"%m{len(b.lines)}"
    b.lines.append(f"{name}:{len(types)} = {text}")
    for number, (shape, kind) in enumerate(types):
        # A separate name: values picked later are named by their number.
        b.add(
            f"stablehlo.reshape {name}#{number} : ({of(shape, kind)}) -> {of(shape, kind)}",
            shape,
            kind,
        )


def barrier(b: Builder) -> None:
    found = several(b, b.draw(st.integers(1, 5)))
    names, types = ", ".join(each[0] for each in found), [each[1:] for each in found]
    text = ", ".join(of(*each) for each in types)
    add_results(b, f"stablehlo.optimization_barrier {names} : {text}", types)


def reduce_several(b: Builder) -> None:
    """Reduce operands of one shape and different element types, each with its own operation."""
    shape = b.draw(st.sampled_from([(2, 3), (3, 2), (4, 1, 3)]))
    axis = b.draw(st.integers(0, len(shape) - 1))
    found = several(b, b.draw(st.integers(2, 3)), lambda s, k: s == shape and k != "f32")
    kinds = [each[2] for each in found]
    initial = [b.pick(lambda s, k, kind=kind: s == () and k == kind)[0] for kind in kinds]
    heads = [f"%x{n}: {of((), kind)}" for n, kind in enumerate(kinds)]
    heads += [f"%y{n}: {of((), kind)}" for n, kind in enumerate(kinds)]
    steps = [
        f"%z{n} = stablehlo.{b.draw(st.sampled_from(['add', 'maximum', 'minimum']))} "
        f"%x{n}, %y{n} : {of((), kind)}"
        for n, kind in enumerate(kinds)
    ]
    returned = ", ".join(f"%z{n}" for n in range(len(kinds)))
    scalars = ", ".join(of((), kind) for kind in kinds)
    left = (*shape[:axis], *shape[axis + 1 :])
    given = ", ".join([each[0] for each in found] + initial)
    types = ", ".join([of(shape, kind) for kind in kinds] + [of((), kind) for kind in kinds])
    results = ", ".join(of(left, kind) for kind in kinds)
    text = (
        f'"stablehlo.reduce"({given}) ({{\n^bb0({", ".join(heads)}):\n'
        + "\n".join(steps)
        + f"\nstablehlo.return {returned} : {scalars}\n}}) "
        + f"{{dimensions = array<i64: {axis}>}} : ({types}) -> ({results})"
    )
    add_results(b, text, [(left, kind) for kind in kinds])


def sort_several(b: Builder) -> None:
    """Sort by the first operand; other operands of other element types are carried along."""
    shape = b.draw(st.sampled_from([(5,), (2, 3), (4, 1, 3)]))
    axis = b.draw(st.integers(0, len(shape) - 1))
    found = several(b, b.draw(st.integers(1, 3)), lambda s, k: s == shape)
    kinds = [each[2] for each in found]
    heads = [f"%{side}{n}: {of((), kind)}" for n, kind in enumerate(kinds) for side in "xy"]
    types = ", ".join(of(shape, kind) for kind in kinds)
    first = of((), kinds[0])
    text = (
        f'"stablehlo.sort"({", ".join(each[0] for each in found)}) ({{\n^bb0({", ".join(heads)}):\n'
        f"%p = stablehlo.compare LT, %x0, %y0 : ({first}, {first}) -> tensor<i1>\n"
        "stablehlo.return %p : tensor<i1>\n}) "
        f"{{dimension = {axis} : i64, is_stable = true}} : ({types}) -> ({types})"
    )
    add_results(b, text, [(shape, kind) for kind in kinds])


def branch(b: Builder) -> None:
    """Add an `if` whose results differ in shape and type, computed in it or captured."""
    condition, *_ = b.pick(lambda s, k: (s, k) == ((), "i1"))
    found = several(b, b.draw(st.integers(1, 3)))
    others = [b.pick(lambda s, k, own=each[1:]: (s, k) == own)[0] for each in found]
    types = ", ".join(of(*each[1:]) for each in found)
    names = ", ".join(each[0] for each in found)
    inner = ", ".join(f"%q#{n}" for n in range(len(found))) if len(found) > 1 else "%q"
    made = f"%q:{len(found)}" if len(found) > 1 else "%q"
    text = (
        f'"stablehlo.if"({condition}) ({{\n'
        f"{made} = stablehlo.optimization_barrier {names} : {types}\n"
        f"stablehlo.return {inner} : {types}\n}}, {{\n"
        f"stablehlo.return {', '.join(others)} : {types}\n}}) : (tensor<i1>) -> ({types})"
    )
    add_results(b, text, [each[1:] for each in found])


def loop(b: Builder) -> None:
    """Add a `while` of a few iterations whose state has different shapes and types."""
    found = several(b, b.draw(st.integers(1, 3)))
    types = ["tensor<i32>", *(of(*each[1:]) for each in found)]
    state = [f"%s{n}" for n in range(len(types))]
    b.lines.append(f"%n{len(b.lines)} = stablehlo.constant dense<0> : tensor<i32>")
    start = b.lines[-1].split()[0]
    given = [start, *(each[0] for each in found)]
    heads = ", ".join(f"{name}: {type_}" for name, type_ in zip(state, types, strict=True))
    count = b.draw(st.integers(0, 3))
    steps = [
        f"%t{n} = stablehlo.{'or' if each[2] == 'i1' else 'add'} {state[n]}, {each[0]} : {types[n]}"
        for n, each in enumerate(found, 1)
    ]
    results = [f"%b#{n}" for n in range(len(types))]
    carried = ", ".join(["%t0", *(f"%t{n}" for n in range(1, len(types)))])
    all_types = ", ".join(types)
    text = (
        f'"stablehlo.while"({", ".join(given)}) ({{\n^bb0({heads}):\n'
        f"%m = stablehlo.constant dense<{count}> : tensor<i32>\n"
        f"%p = stablehlo.compare LT, %s0, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        f"stablehlo.return %p : tensor<i1>\n}}, {{\n^bb0({heads}):\n"
        "%o = stablehlo.constant dense<1> : tensor<i32>\n"
        "%t0 = stablehlo.add %s0, %o : tensor<i32>\n"
        + "\n".join(steps)
        + f"\n%b:{len(types)} = stablehlo.optimization_barrier {carried} : {all_types}"
        + f"\nstablehlo.return {', '.join(results)} : {all_types}\n}})"
        + f" : ({all_types}) -> ({all_types})"
    )
    add_results(b, text, [((), "i32"), *(each[1:] for each in found)])


STEPS = [binary, binary, unary, choose, convert, move, move, broadcast, reduce, product]
# Operations with several operands and results of different shapes or element types.
SEVERAL = [barrier, barrier, reduce_several, sort_several, branch, loop]


@dataclass(repr=False)
class Example:
    """The text of a program, and its arguments."""

    text: str
    arguments: list[np.ndarray]


@st.composite
def programs(draw, length: int = 14, steps: tuple[Callable, ...] = (*STEPS, *SEVERAL)):
    """Return a program and arguments of every shape and type; the last values are its results."""
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
        draw(st.sampled_from(steps))(builder)
    made = builder.values[count:]
    results = [made[-1], made[len(made) // 2], made[0]]
    names = ", ".join(each[0] for each in results)
    types = ", ".join(of(shape, kind) for _, shape, kind in results)
    body = "\n".join([*builder.lines, f"return {names} : {types}"])
    return Example(f"func.func @main({head}) -> ({types}) {{\n{body}\n}}", arguments)
