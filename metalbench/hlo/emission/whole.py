"""Operations that are no maps of indices: each is one or more passes over whole tensors."""

from __future__ import annotations

from contextlib import ExitStack

from metalbench.hlo.emission.indexing import start_index
from metalbench.hlo.emission.kernel import Stage, Whole
from metalbench.hlo.emission.reductions import loops
from metalbench.hlo.emission.writer import Writer, msl
from metalbench.hlo.graph import Operation


def scatter(operation: Operation) -> list[Stage]:
    """Copy the operands, then update them in the order of the updates, by one thread.

    Two updates of one element may meet, and the region may be any: only an order of their own
    gives the same result every time.
    """
    count = len(operation.operands) // 2
    operands, updates = operation.operands[:count], operation.operands[count + 1 :]
    shape, windows = operands[0].type.shape, updates[0].type.shape

    def copy(writer: Writer, thread: str, outputs: list[str]) -> None:
        index = writer.unravel(thread, shape)
        for value, output in zip(operands, outputs, strict=True):
            writer.line(f"{output}[i] = {writer.value(value, index)};")

    def update(writer: Writer, thread: str, outputs: list[str]) -> None:
        with ExitStack() as stack:
            index = loops(writer, stack, windows)
            places, inside = _target(writer, operation, index)
            stack.enter_context(writer.block(f"if ({inside})"))
            place = writer.index(writer.linear(places, shape))
            old = [
                writer.declare(msl(each.type), f"{output}[{place}]")
                for each, output in zip(operands, outputs, strict=True)
            ]
            new = writer.region(
                operation.regions[0], [*old, *(writer.value(each, index) for each in updates)]
            )
            for output, name in zip(outputs, new, strict=True):
                writer.line(f"{output}[{place}] = {name};")

    stages = [Stage(operands[0].type.size, copy)]
    return [*stages, Stage(1, update)] if updates[0].type.size else stages


def _target(writer: Writer, operation: Operation, index: list[str]) -> tuple[list[str], str]:
    """Where an element of the updates goes, and the condition that it lies in the operand."""
    count = len(operation.operands) // 2
    shape, starts = operation.operands[0].type.shape, operation.operands[count]
    numbers = operation.attributes["scatter_dimension_numbers"]
    window, vector = numbers["update_window_dims"], numbers["index_vector_dim"]
    batch = [each for axis, each in enumerate(index) if axis not in window]
    skipped = (*numbers["inserted_window_dims"], *numbers["input_batching_dims"])
    within = iter([index[axis] for axis in window])
    offsets = ["0" if axis in skipped else next(within) for axis in range(len(shape))]
    places, inside = list(offsets), ["true"]
    for number, axis in enumerate(numbers["scattered_dims_to_operand_dims"]):
        at = start_index(batch, vector, number, len(starts.type.shape))
        # A start may have 64 bits: no sum wraps into the operand.
        start = writer.declare("long", f"long({writer.value(starts, at)})")
        place = writer.declare("int", f"int({start} + {offsets[axis]})")
        inside.append(f"{start} >= -{shape[axis]} && {start} <= {shape[axis]}")
        inside.append(f"{place} >= 0 && {place} < {shape[axis]}")
        places[axis] = place
    for axis, other in zip(
        numbers["input_batching_dims"], numbers["scatter_indices_batching_dims"], strict=True
    ):
        places[axis] = batch[other if other < vector else other - 1]
    return places, " && ".join(inside)


def sort(operation: Operation) -> list[Stage]:
    """By insertion from the front, a thread a line: stable, whatever the comparator says."""
    axis, shape = operation.attributes.get("dimension", -1), operation.operands[0].type.shape
    axis = axis % len(shape) if shape else 0
    size = shape[axis] if shape else 1
    lines = operation.operands[0].type.size // max(size, 1)

    def write(writer: Writer, thread: str, outputs: list[str]) -> None:
        rest = writer.unravel(thread, [*shape[:axis], *shape[axis + 1 :]]) if shape else ()

        def place(number: str) -> list[str]:
            return [*rest[:axis], number, *rest[axis:]] if shape else []

        with writer.block(f"for (int k = 0; k < {size}; ++k)"):
            new = [writer.value(each, place("k")) for each in operation.operands]
            # After the last that is not behind it: found by halving what is in order already.
            writer.line("int low = 0, high = k;")
            with writer.block("while (low < high)"):
                middle = writer.declare("int", "(low + high) / 2")
                at = writer.linear(place(middle), shape)
                pairs = []
                for name, output, each in zip(new, outputs, operation.operands, strict=True):
                    pairs += [name, writer.declare(msl(each.type), f"{output}[{at}]")]
                (before,) = writer.region(operation.regions[0], pairs)
                writer.line(f"if ({before}) high = {middle}; else low = {middle} + 1;")
            with writer.block("for (int m = k; m > low; --m)"):
                to, source = (writer.linear(place(each), shape) for each in ("m", "(m - 1)"))
                for output in outputs:
                    writer.line(f"{output}[{to}] = {output}[{source}];")
            at = writer.linear(place("low"), shape)
            for name, output in zip(new, outputs, strict=True):
                writer.line(f"{output}[{at}] = {name};")

    return [Stage(lines, write)]


def cholesky(operation: Operation) -> list[Stage]:
    """A thread a matrix; the other triangle is zero. Sums are those of floats."""
    (matrix,) = operation.operands
    *batch, size, _ = matrix.type.shape
    kind, lower = msl(matrix.type), operation.attributes.get("lower", False)

    def write(writer: Writer, thread: str, outputs: list[str]) -> None:
        index, output = writer.unravel(thread, batch), outputs[0]

        def at(row: str, column: str) -> str:
            place = (row, column) if lower else (column, row)
            return f"{output}[{writer.linear([*index, *place], matrix.type.shape)}]"

        with writer.block(f"for (int c = 0; c < {size}; ++c)"):
            with writer.block("for (int r = 0; r < c; ++r)"):
                writer.line(f"{at('r', 'c')} = {kind}(0);")
            with writer.block(f"for (int r = c; r < {size}; ++r)"):
                place = ("r", "c") if lower else ("c", "r")
                total = writer.variable("float", f"float({writer.value(matrix, [*index, *place])})")
                with writer.block("for (int k = 0; k < c; ++k)"):
                    writer.line(f"{total} -= float({at('r', 'k')}) * float({at('c', 'k')});")
                diagonal = f"precise::sqrt({total})"
                other = f"{total} / float({at('c', 'c')})"
                writer.line(f"{at('r', 'c')} = {kind}(r == c ? {diagonal} : {other});")

    count = matrix.type.size // max(size * size, 1)
    return [Stage(count, write)]


def triangular_solve(operation: Operation) -> list[Stage]:
    """A thread a right-hand side, by substitution; the other triangle of `a` is not read."""
    a, b = operation.operands
    left = operation.attributes["left_side"]
    transposed = "NO_TRANSPOSE" not in str(operation.attributes.get("transpose_a", "NO_TRANSPOSE"))
    unit = operation.attributes["unit_diagonal"]
    *batch, rows, columns = b.type.shape
    size, sides = (rows, columns) if left else (columns, rows)
    # X A = B is A' X' = B'.
    flipped = transposed if left else not transposed
    forwards = operation.attributes["lower"] != flipped

    def write(writer: Writer, thread: str, outputs: list[str]) -> None:
        *index, side = writer.unravel(thread, [*batch, sides])

        def pair(row: str) -> list[str]:
            return [*index, row, side] if left else [*index, side, row]

        def coefficient(row: str, column: str) -> str:
            place = (column, row) if flipped else (row, column)
            return f"float({writer.value(a, [*index, *place])})"

        with writer.block(f"for (int n = 0; n < {size}; ++n)"):
            row = writer.declare("int", "n" if forwards else f"{size - 1} - n")
            total = writer.variable("float", f"float({writer.value(b, pair(row))})")
            bounds = f"int k = 0; k < {row}" if forwards else f"int k = {row} + 1; k < {size}"
            with writer.block(f"for ({bounds}; ++k)"):
                known = f"float({outputs[0]}[{writer.linear(pair('k'), b.type.shape)}])"
                writer.line(f"{total} -= {coefficient(row, 'k')} * {known};")
            found = total if unit else f"{total} / {coefficient(row, row)}"
            place = writer.linear(pair(row), b.type.shape)
            writer.line(f"{outputs[0]}[{place}] = {msl(b.type)}({found});")

    return [Stage(b.type.size // max(size, 1), write)]


WHOLE: dict[str, Whole] = {
    "cholesky": cholesky,
    "scatter": scatter,
    "sort": sort,
    "triangular_solve": triangular_solve,
}
