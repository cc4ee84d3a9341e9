"""Lower `rng` to random bits and elementwise operations.

StableHLO leaves the numbers to the implementation. Here each `rng` of a program has its own key of
Philox, so every run and every device draws the same bits.
"""

from __future__ import annotations

from itertools import count

import numpy as np

from metalbench.errors import Unsupported
from metalbench.hlo.ir import (
    ELEMENT_TYPES,
    Block,
    ElementType,
    Operation,
    TensorType,
    TensorValue,
)
from metalbench.hlo.passes.fourier import OperationBuilder

# The fractional part of the golden ratio: keys of a program have few bits in common.
_KEY_STEP = 0x9E3779B97F4A7C15
_WORD = 1 << 64
_UI64, _I64 = ELEMENT_TYPES["ui64"], ELEMENT_TYPES["i64"]


def lower_random_numbers(block: Block) -> None:
    """Lower each `rng` in place, also in the branches of conditionals.

    Raise Unsupported for other element types, and in loops, where the key would be the same in each
    iteration.
    """
    _lower_block(block, count(1), in_loop=False)


def _lower_block(block: Block, numbers: count[int], *, in_loop: bool) -> None:
    operations: list[Operation] = []
    for operation in block.operations:
        for region in operation.regions:
            _lower_block(region, numbers, in_loop=in_loop or operation.name == "while")
        if operation.name != "rng":
            operations.append(operation)
            continue
        if in_loop:
            raise Unsupported(
                f"{operation.where}: it would draw the same numbers in each iteration of the loop; "
                "carry the state of rng_bit_generator"
            )
        operations += _RandomNumbers(operation, next(numbers)).operations
    block.operations = operations


class _RandomNumbers:
    """The operations of one `rng`, the last of which defines its result."""

    def __init__(self, rng: Operation, number: int) -> None:
        self._rng, self._key = rng, number * _KEY_STEP % _WORD
        result = rng.results[0]
        self._shape, element = result.type.shape, result.type.element
        # Floats of fewer bits are rounded at the end.
        self._real = element.arithmetic
        self._builder = OperationBuilder(rng.location, self._real)
        distribution = rng.attributes["rng_distribution"]
        if element.is_float:
            draw = self._draw_normal if distribution == "NORMAL" else self._draw_uniform
        elif element.is_integer and distribution == "UNIFORM":
            draw = self._draw_integers
        else:
            raise Unsupported(f"{rng.where}: expected floats or integers, got {result.type}")
        self._replace(draw(element))

    @property
    def operations(self) -> list[Operation]:
        """All operations in order."""
        return self._builder.operations

    def _replace(self, value: TensorValue) -> None:
        """Let the operation that defines `value` define the result of `rng`."""
        result, operation = self._rng.results[0], value.operation
        assert operation is not None
        operation.results = [result]
        result.operation, result.number = operation, 0

    def _create(
        self, name: str, *operands: TensorValue, element: ElementType | None = None
    ) -> TensorValue:
        return self._builder.create(name, list(operands), self._shape, element or self._real)

    def _splat(self, number: float, element: ElementType | None = None) -> TensorValue:
        """Return a tensor whose elements are all this number."""
        scalar = self._builder.create_constant(number, element or self._real)
        return self._broadcast(scalar)

    def _broadcast(self, scalar: TensorValue) -> TensorValue:
        element = scalar.type.element
        return self._builder.create(
            "broadcast_in_dim", [scalar], self._shape, element, broadcast_dimensions=()
        )

    def _read_bounds(self, element: ElementType) -> list[TensorValue]:
        """Return both parameters of the distribution, converted, for each element."""
        found = []
        for each in self._rng.operands[:2]:
            value = self._broadcast(each)
            if value.type.element != element:
                value = self._create("convert", value, element=element)
            found.append(value)
        return found

    def _draw_bits(self, number: int = 0) -> TensorValue:
        """Return 64 random bits for each element; each `number` has separate ones."""
        state = np.array([(self._key + number) % _WORD, 0], np.uint64)
        given = self._builder.create_constant(state, _UI64)
        bits = self._builder.create(
            "rng_bit_generator", [given], state.shape, _UI64, rng_algorithm="PHILOX"
        )
        generator = bits.operation
        assert generator is not None
        drawn = TensorValue(TensorType(self._shape, _UI64), generator, 1)
        generator.results.append(drawn)
        return drawn

    def _draw_fractions(self, number: int = 0) -> TensorValue:
        """Return multiples of the unit of rounding in [0, 1), all equally likely."""
        digits = 53 if self._real.bits == 64 else 24
        bits = self._draw_bits(number)
        high = self._create(
            "shift_right_logical", bits, self._splat(64 - digits, _UI64), element=_UI64
        )
        numbers = self._create("convert", high)
        return self._create("multiply", numbers, self._splat(2.0**-digits))

    def _round(self, value: TensorValue, element: ElementType) -> TensorValue:
        return value if element == self._real else self._create("convert", value, element=element)

    def _draw_uniform(self, element: ElementType) -> TensorValue:
        """Return floats in [a, b). The sum of two products does not overflow, as b - a may."""
        low, high = self._read_bounds(self._real)
        fraction = self._draw_fractions()
        rest = self._create("subtract", self._splat(1.0), fraction)
        parts = self._create("multiply", low, rest), self._create("multiply", high, fraction)
        value = self._round(self._create("add", *parts), element)
        # Rounding may reach b.
        low, high = self._read_bounds(element)
        predicate = ELEMENT_TYPES["i1"]
        inside = self._builder.create(
            "compare", [value, high], self._shape, predicate, comparison_direction="LT"
        )
        return self._create("select", inside, value, low, element=element)

    def _draw_normal(self, element: ElementType) -> TensorValue:
        """Return normal numbers by the method of Box and Muller (1958)."""
        mean, deviation = self._read_bounds(self._real)
        # In (0, 1], so that the logarithm is finite.
        first = self._create("subtract", self._splat(1.0), self._draw_fractions(0))
        angle = self._create("multiply", self._draw_fractions(1), self._splat(2 * np.pi))
        logarithm = self._create("multiply", self._create("log", first), self._splat(-2.0))
        radius = self._create("sqrt", logarithm)
        number = self._create("multiply", radius, self._create("cosine", angle))
        scaled = self._create("multiply", number, deviation)
        return self._round(self._create("add", scaled, mean), element)

    def _draw_integers(self, element: ElementType) -> TensorValue:
        """Return integers in [a, b). Of b - a < 2^32 numbers, none is likelier by 2^-32."""
        wide = _I64 if element.kind == "i" else _UI64
        low, high = (self._bits_of(each) for each in self._read_bounds(wide))
        span = self._create("subtract", high, low, element=_UI64)
        offset = self._create("remainder", self._draw_bits(), span, element=_UI64)
        found = self._create("add", low, offset, element=_UI64)
        if wide != _UI64:
            found = self._create("bitcast_convert", found, element=wide)
        same = found.type.element == element
        return found if same else self._create("convert", found, element=element)

    def _bits_of(self, value: TensorValue) -> TensorValue:
        if value.type.element == _UI64:
            return value
        return self._create("bitcast_convert", value, element=_UI64)
