"""Generate kernels of matrix factorizations: one threadgroup for each matrix."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from metalbench.errors import Unsupported
from metalbench.hlo.codegen.kernel import EMITTERS, GeneratedKernel, KernelStage, build_kernel
from metalbench.hlo.codegen.writer import KernelWriter, get_msl_type
from metalbench.hlo.ir import Operation, TensorValue

# Kernels that call these functions need the header.
FACTORIZATION_CALLS, FACTORIZATION_HEADER = (
    ("shlo::qr<", "shlo::cholesky<", "shlo::eigh<", "shlo::lu<", "shlo::reflectors_"),
    "factorizations.h",
)
DOUBLE_FACTORIZATION_HEADER = "double_factorizations.h"
# Threads for each matrix; matrices up to SMALL_SIZE columns use MIN_THREADS.
MIN_THREADS, MAX_THREADS, SMALL_SIZE = 32, 128, 16
# A float holds the number of a row exactly.
MAX_ROWS = 1 << 24
_TYPES = ("f32", "f64", "complex<f32>", "complex<f64>")
_PLACE = (
    "uint matrix [[threadgroup_position_in_grid]]",
    "uint place [[thread_position_in_threadgroup]]",
    "uint group [[simdgroup_index_in_threadgroup]]",
    "uint lane [[thread_index_in_simdgroup]]",
)


def build_qr_kernel(
    name: str, operation: Operation, inlined: set[TensorValue], *, device: str = ""
) -> GeneratedKernel:
    """Return a kernel whose results are the packed factors and one scalar for each reflector.

    The layout is that of LAPACK's geqrf.
    """
    (matrix,) = operation.operands
    rows, columns = _find_matrix_sizes(operation)
    threads = MIN_THREADS if columns <= SMALL_SIZE else MAX_THREADS
    reflectors = min(rows, columns)

    def write(writer: KernelWriter) -> None:
        own = _copy_matrix(writer, matrix, threads)
        writer.add_line(
            f"shlo::qr<{rows}, {columns}, {threads}>"
            f"(out0 + {own}, out1 + matrix * {reflectors}u, partial, place);"
        )

    return _build_kernel(name, operation, threads, write)


def build_lu_kernel(
    name: str, operation: Operation, inlined: set[TensorValue], *, device: str = ""
) -> GeneratedKernel:
    """Return a kernel whose results are the packed factors, the pivots and the permutation.

    The layout is that of LAPACK's getrf; rows count from 0.
    """
    (matrix,) = operation.operands
    rows, columns = _find_matrix_sizes(operation)
    if rows >= MAX_ROWS:
        raise Unsupported(f"{operation.where}: expected fewer than {MAX_ROWS} rows, got {rows}")
    threads = MIN_THREADS if max(rows, columns) <= SMALL_SIZE else MAX_THREADS

    def write(writer: KernelWriter) -> None:
        own = _copy_matrix(writer, matrix, threads)
        outputs = [
            f"out0 + {own}",
            f"out1 + matrix * {min(rows, columns)}u",
            f"out2 + matrix * {rows}u",
        ]
        writer.add_line(
            f"shlo::lu<{rows}, {columns}, {threads}>"
            f"({', '.join(outputs)}, partial, place, group, lane);"
        )

    return _build_kernel(name, operation, threads, write)


# Smaller matrices take a thread each, larger ones do not fit into threadgroup memory line by line.
MIN_CHOLESKY, MAX_LINE_BYTES = 17, 16384


def shares_cholesky(operation: Operation) -> bool:
    """Return whether a threadgroup computes a Cholesky decomposition, not a single thread."""
    type_ = operation.operands[0].type
    size = type_.shape[-1]
    fits = size * type_.element.storage.itemsize <= MAX_LINE_BYTES
    return type_.element.name in _TYPES and size >= MIN_CHOLESKY and fits


def build_cholesky_kernel(
    name: str, operation: Operation, inlined: set[TensorValue], *, device: str = ""
) -> GeneratedKernel:
    """Return a kernel that copies one triangle and factors it; the other triangle is zero."""
    (matrix,) = operation.operands
    size, _ = _find_matrix_sizes(operation)
    lower, kind = bool(operation.attributes.get("lower", False)), get_msl_type(matrix.type)

    def write(writer: KernelWriter) -> None:
        own = writer.declare("uint", f"matrix * {size * size}u")
        given = writer.bind_buffer(matrix)
        writer.add_line(f"threadgroup {kind} line[{size}];")
        with writer.open_block(f"for (uint k = place; k < {size * size}u; k += {MAX_THREADS}u)"):
            is_own = f"k % {size}u {'<=' if lower else '>='} k / {size}u"
            writer.add_line(f"out0[{own} + k] = {is_own} ? {given}[{own} + k] : {kind}(0);")
        writer.add_line("shlo::wait_for_all();")
        writer.add_line(
            f"shlo::cholesky<{size}, {MAX_THREADS}, {str(lower).lower()}>"
            f"(out0 + {own}, line, place, group, lane);"
        )

    return _build_kernel(name, operation, MAX_THREADS, write)


def build_eigh_kernel(
    name: str, operation: Operation, inlined: set[TensorValue], *, device: str = ""
) -> GeneratedKernel:
    """Return a kernel that computes eigenvectors and eigenvalues; its third result is workspace."""
    (matrix,) = operation.operands
    size, _ = _find_matrix_sizes(operation)
    threads = MIN_THREADS if size <= SMALL_SIZE else MAX_THREADS
    lower, ordered = (str(operation.attributes[each] == 1).lower() for each in ("lower", "sorted"))

    def write(writer: KernelWriter) -> None:
        rotation = f"shlo::Rotation<{get_msl_type(matrix.type)}>"
        writer.add_line(f"threadgroup {rotation} turns[{(size + 1) // 2}];")
        own = writer.declare("uint", f"matrix * {size * size}u")
        room = [f"out2 + 2 * {own}", f"out2 + 2 * {own} + {size * size}"]
        results = [f"out0 + {own}", f"out1 + matrix * {size}u"]
        given = [f"{writer.bind_buffer(matrix)} + {own}", *room, *results, "turns, partial, place"]
        writer.add_line(f"shlo::eigh<{size}, {threads}, {lower}, {ordered}>({', '.join(given)});")

    return _build_kernel(name, operation, threads, write)


def build_householder_product(operation: Operation) -> list[KernelStage]:
    """Return the stage that multiplies the reflectors of `qr`: one thread for each column."""
    matrix, taus = operation.operands
    rows, columns = _find_matrix_sizes(operation)
    count = taus.type.shape[-1]

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        places = [(f"{thread} / {columns} * {size}") for size in (rows * columns, count)]
        given = [writer.bind_buffer(each) for each in (matrix, taus)]
        pointers = [f"{name} + {place}" for name, place in zip(given, places, strict=True)]
        pointers.append(f"{outputs[0]} + {places[0]}")
        writer.add_line(
            f"shlo::reflectors_column<{rows}, {columns}, {count}>"
            f"({', '.join(pointers)}, uint({thread} % {columns}));"
        )

    return [KernelStage(matrix.type.size // max(rows, 1), write)]


def _find_matrix_sizes(operation: Operation) -> tuple[int, int]:
    """Return the rows and columns of a matrix. Raise Unsupported for other element types."""
    type_ = operation.operands[0].type
    if type_.element.name not in _TYPES:
        expected = " or ".join(_TYPES)
        raise Unsupported(f"{operation.where}: expected matrices of {expected}, got {type_}")
    return type_.shape[-2], type_.shape[-1]


def _copy_matrix(writer: KernelWriter, matrix: TensorValue, threads: int) -> str:
    """Write the copy of a matrix to the first result; return where it begins."""
    size = matrix.type.shape[-2] * matrix.type.shape[-1]
    own = writer.declare("uint", f"matrix * {size}u")
    given = writer.bind_buffer(matrix)
    with writer.open_block(f"for (uint k = place; k < {size}u; k += {threads}u)"):
        writer.add_line(f"out0[{own} + k] = {given}[{own} + k];")
    writer.add_line("shlo::wait_for_all();")
    return own


def _build_kernel(
    name: str, operation: Operation, threads: int, write: Callable[[KernelWriter], None]
) -> GeneratedKernel:
    (matrix,) = operation.operands
    writer = KernelWriter(EMITTERS, set())
    count = prod(matrix.type.shape[:-2]) if matrix.type.size else 0
    if count:
        pair = "shlo::double2" if matrix.type.element.has_double else "float2"
        writer.add_line(f"threadgroup {pair} partial[{threads // 32}];")
        write(writer)
    return build_kernel(name, writer, operation.results, count * threads, threads, place=_PLACE)


FACTORIZATIONS = {"eigh": build_eigh_kernel, "lu": build_lu_kernel, "qr": build_qr_kernel}
