"""Generate operations with one or more stages over whole tensors."""

from __future__ import annotations

from metalbench.hlo.emission.factorizations import build_householder_product
from metalbench.hlo.emission.fourier import build_fft
from metalbench.hlo.emission.kernel import KernelStage, StageBuilder
from metalbench.hlo.emission.number import Arithmetic
from metalbench.hlo.emission.random_bits import build_rng_bit_generator
from metalbench.hlo.emission.scattering import build_scatter
from metalbench.hlo.emission.sorting import build_sort
from metalbench.hlo.emission.writer import KernelWriter, get_msl_type
from metalbench.hlo.graph import Operation


def build_cholesky(operation: Operation) -> list[KernelStage]:
    """Return the stage with one thread for each matrix.

    The other triangle is zero. Floats are accumulated in float.
    """
    (matrix,) = operation.operands
    *batch, size, _ = matrix.type.shape
    kind, lower = get_msl_type(matrix.type), operation.attributes.get("lower", False)
    number = Arithmetic(matrix.type.element)

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        index, output = writer.unravel_index(thread, batch), outputs[0]

        def at(row: str, column: str) -> str:
            place = (row, column) if lower else (column, row)
            return f"{output}[{writer.linearize([*index, *place], matrix.type.shape)}]"

        with writer.open_block(f"for (int c = 0; c < {size}; ++c)"):
            with writer.open_block("for (int r = 0; r < c; ++r)"):
                writer.add_line(f"{at('r', 'c')} = {kind}(0);")
            with writer.open_block(f"for (int r = c; r < {size}; ++r)"):
                place = ("r", "c") if lower else ("c", "r")
                given = number.widen(writer.emit_value(matrix, [*index, *place]))
                total = writer.declare_variable(number.type, given)
                with writer.open_block("for (int k = 0; k < c; ++k)"):
                    left, right = (number.widen(at(each, "k")) for each in "rc")
                    writer.add_line(f"{total} -= {number.multiply(left, number.conjugate(right))};")
                diagonal = number.format_sqrt(total)
                other = number.divide_by_real(total, number.widen(at("c", "c")))
                writer.add_line(f"{at('r', 'c')} = {kind}(r == c ? {diagonal} : {other});")

    count = matrix.type.size // max(size * size, 1)
    return [KernelStage(count, write)]


def build_triangular_solve(operation: Operation) -> list[KernelStage]:
    """Return the stage of a substitution, with one thread for each right-hand side.

    The other triangle of `a` is not read.
    """
    a, b = operation.operands
    left = operation.attributes["left_side"]
    transposed = "NO_TRANSPOSE" not in str(operation.attributes.get("transpose_a", "NO_TRANSPOSE"))
    unit = operation.attributes["unit_diagonal"]
    adjoint = operation.attributes.get("transpose_a") == "ADJOINT"
    number = Arithmetic(b.type.element)
    *batch, rows, columns = b.type.shape
    size, sides = (rows, columns) if left else (columns, rows)
    # X A = B is equivalent to A' X' = B'.
    flipped = transposed if left else not transposed
    forwards = operation.attributes["lower"] != flipped

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        *index, side = writer.unravel_index(thread, [*batch, sides])

        def pair(row: str) -> list[str]:
            return [*index, row, side] if left else [*index, side, row]

        def coefficient(row: str, column: str) -> str:
            place = (column, row) if flipped else (row, column)
            given = number.widen(writer.emit_value(a, [*index, *place]))
            return number.conjugate(given) if adjoint else given

        with writer.open_block(f"for (int n = 0; n < {size}; ++n)"):
            row = writer.declare("int", "n" if forwards else f"{size - 1} - n")
            total = writer.declare_variable(
                number.type, number.widen(writer.emit_value(b, pair(row)))
            )
            bounds = f"int k = 0; k < {row}" if forwards else f"int k = {row} + 1; k < {size}"
            with writer.open_block(f"for ({bounds}; ++k)"):
                known = number.widen(f"{outputs[0]}[{writer.linearize(pair('k'), b.type.shape)}]")
                writer.add_line(f"{total} -= {number.multiply(coefficient(row, 'k'), known)};")
            found = total if unit else number.divide(total, coefficient(row, row))
            place = writer.linearize(pair(row), b.type.shape)
            writer.add_line(f"{outputs[0]}[{place}] = {get_msl_type(b.type)}({found});")

    return [KernelStage(b.type.size // max(size, 1), write)]


STAGED: dict[str, StageBuilder] = {
    "cholesky": build_cholesky,
    "fft": build_fft,
    "householder_product": build_householder_product,
    "rng_bit_generator": build_rng_bit_generator,
    "scatter": build_scatter,
    "sort": build_sort,
    "triangular_solve": build_triangular_solve,
}
