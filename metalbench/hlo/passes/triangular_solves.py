"""Split the solution of large triangular systems into small ones and matrix products.

A block of unknowns is solved; one product removes it from all later equations. The kernel of a
triangular solve has a thread for each right-hand side, which reads the matrix element by element:
products read it in tiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from metalbench.hlo.ir import Block, Operation, TensorType, TensorValue, replace_values
from metalbench.hlo.operations import CONTROL_FLOW

# Unknowns of a block, and the largest number of blocks: larger systems have larger blocks.
BLOCK, MAX_BLOCKS = 64, 16
# Fewer right-hand sides do not repay the products.
MIN_SIDES = 16


def split_triangular_solves(block: Block) -> None:
    """Split solves in place, also in regions of control flow."""
    operations: list[Operation] = []
    new: dict[TensorValue, TensorValue] = {}
    for operation in block.operations:
        replace_values(operation, new)
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                split_triangular_solves(region)
        if operation.name == "triangular_solve" and _repays_splitting(operation):
            splitter = _Splitter(operation)
            new[operation.results[0]] = splitter.split()
            operations += splitter.operations
        else:
            operations.append(operation)
    block.operations = operations
    block.returned = [new.get(each, each) for each in block.returned]


def _repays_splitting(solve: Operation) -> bool:
    a, b = solve.operands
    *_, rows, columns = b.type.shape
    size, sides = (rows, columns) if solve.attributes["left_side"] else (columns, rows)
    is_conjugate = solve.attributes.get("transpose_a") == "ADJOINT" and a.type.element.is_complex
    return size > 2 * BLOCK and sides >= MIN_SIDES and not is_conjugate


class _Splitter:
    """The operations that replace one solve."""

    def __init__(self, solve: Operation) -> None:
        self._solve = solve
        self._left = solve.attributes["left_side"]
        kind = str(solve.attributes.get("transpose_a", "NO_TRANSPOSE"))
        self._transposed = "NO_TRANSPOSE" not in kind
        self._batches = len(solve.operands[1].type.shape) - 2
        self.operations: list[Operation] = []

    def split(self) -> TensorValue:
        """Create the operations; return the solution."""
        a, rest = self._solve.operands
        size, axis = a.type.shape[-1], self._batches + (0 if self._left else 1)
        width = max(BLOCK, -(-size // MAX_BLOCKS))
        # X A = B is equivalent to A' X' = B'.
        flipped = self._transposed if self._left else not self._transposed
        forwards = self._solve.attributes["lower"] != flipped
        starts = range(0, size, width)
        solved = []
        # The unknowns of the rest begin here.
        origin = 0
        for start in starts if forwards else reversed(starts):
            end = min(start + width, size)
            right = self._slice(rest, {axis: (start - origin, end - origin)})
            diagonal = self._slice(
                a, {self._batches: (start, end), self._batches + 1: (start, end)}
            )
            known = self._create("triangular_solve", [diagonal, right], right.type.shape)
            solved.append(known)
            later = (end, size) if forwards else (0, start)
            if later[0] == later[1]:
                break
            left = self._slice(rest, {axis: (later[0] - origin, later[1] - origin)})
            product = self._multiply(a, known, later, (start, end))
            rest = self._create("subtract", [left, product], left.type.shape, {})
            origin = later[0]
        parts = solved if forwards else solved[::-1]
        shape = self._solve.results[0].type.shape
        return self._create("concatenate", parts, shape, {"dimension": axis})

    def _multiply(
        self, a: TensorValue, known: TensorValue, later: tuple[int, int], solved: tuple[int, int]
    ) -> TensorValue:
        """Return what solved unknowns contribute to later equations."""
        first, last = self._batches, self._batches + 1
        # The axis of `a` that is multiplied by the unknowns.
        depth = last if self._left != self._transposed else first
        part = self._slice(a, {depth: solved, first + last - depth: later})
        batch = tuple(range(self._batches))
        operands, axes = [part, known], [depth, first]
        if not self._left:
            operands, axes = [known, part], [last, depth]
        numbers: dict[str, tuple[int, ...]] = {}
        for side, axis in zip(("lhs", "rhs"), axes, strict=True):
            numbers[f"{side}_batching_dimensions"] = batch
            numbers[f"{side}_contracting_dimensions"] = (axis,)
        shape, count = list(known.type.shape), later[1] - later[0]
        shape[first if self._left else last] = count
        return self._create(
            "dot_general", operands, tuple(shape), {"dot_dimension_numbers": numbers}
        )

    def _slice(self, value: TensorValue, ranges: dict[int, tuple[int, int]]) -> TensorValue:
        """Return the part of a value in ranges of some axes."""
        shape = value.type.shape
        whole = [ranges.get(axis, (0, size)) for axis, size in enumerate(shape)]
        starts, limits = ([each[end] for each in whole] for end in (0, 1))
        attributes = {
            "start_indices": starts,
            "limit_indices": limits,
            "strides": [1] * len(shape),
        }
        sizes = tuple(end - start for start, end in whole)
        return value if sizes == shape else self._create("slice", [value], sizes, attributes)

    def _create(
        self,
        name: str,
        operands: list[TensorValue],
        shape: tuple[int, ...],
        attributes: Mapping[str, object] | None = None,
    ) -> TensorValue:
        """Add an operation; return its result. The attributes default to those of the solve."""
        found = replace(
            self._solve,
            name=name,
            operands=operands,
            results=[],
            attributes=dict(self._solve.attributes if attributes is None else attributes),
        )
        found.results = [TensorValue(TensorType(shape, operands[0].type.element), found)]
        self.operations.append(found)
        return found.results[0]
