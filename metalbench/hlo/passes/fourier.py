"""Lower Fourier transforms to matrix products and elementwise operations."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from metalbench.hlo.ir import ELEMENT_TYPES, Block, ElementType, Operation, TensorType, TensorValue

Array = np.ndarray[Any, Any]


class OperationBuilder:
    """A list of new operations; the default element type of results is the given complex type.

    `real` is the type of its parts.
    """

    def __init__(self, location: str, element: ElementType) -> None:
        self._location = location
        self.element, self.real = element, element.arithmetic
        self.operations: list[Operation] = []

    def slice(self, value: TensorValue, axis: int, start: int, stop: int) -> TensorValue:
        """Return the elements from `start` to `stop` along an axis."""
        shape = list(value.type.shape)
        if (start, stop) == (0, shape[axis]):
            return value
        starts = [start if each == axis else 0 for each in range(len(shape))]
        limits = [stop if each == axis else size for each, size in enumerate(shape)]
        shape[axis] = stop - start
        return self.create(
            "slice",
            [value],
            tuple(shape),
            value.type.element,
            start_indices=starts,
            limit_indices=limits,
            strides=[1] * len(shape),
        )

    def pad_end(self, value: TensorValue, axis: int, more: int) -> TensorValue:
        """Append `more` zeros along an axis."""
        shape = list(value.type.shape)
        high = [more if each == axis else 0 for each in range(len(shape))]
        shape[axis] += more
        none = [0] * len(shape)
        zero = self.create_constant(0)
        return self.create(
            "pad",
            [value, zero],
            tuple(shape),
            edge_padding_low=none,
            edge_padding_high=high,
            interior_padding=none,
        )

    def scale_along(self, value: TensorValue, numbers: Array, axis: int) -> TensorValue:
        """Multiply the elements at each index of an axis by the number for that index."""
        given, shape = self.create_constant(numbers), value.type.shape
        given = self.create("broadcast_in_dim", [given], shape, broadcast_dimensions=(axis,))
        return self.create("multiply", [value, given], shape)

    def create_constant(self, numbers: Any, element: ElementType | None = None) -> TensorValue:
        """Return a constant with these numbers."""
        element = element or self.element
        array = np.asarray(numbers, element.storage)
        return self.create("constant", [], array.shape, element, value=array)

    def create(
        self,
        name: str,
        operands: list[TensorValue],
        shape: tuple[int, ...],
        element: ElementType | None = None,
        **attributes: Any,
    ) -> TensorValue:
        """Append an operation; return its result."""
        operation = Operation(name, operands, [], attributes, [], self._location)
        operation.results = [TensorValue(TensorType(shape, element or self.element), operation)]
        self.operations.append(operation)
        return operation.results[0]

    def conjugate(self, value: TensorValue) -> TensorValue:
        """Return the complex conjugate of each element."""
        shape, kind = value.type.shape, self.real
        real, imaginary = (self.create(part, [value], shape, kind) for part in ("real", "imag"))
        negated = self.create("negate", [imaginary], shape, kind)
        return self.create("complex", [real, negated], shape)


# Build real Fourier transforms of even length from complex ones of half the length.
#
# Two neighbours become one complex number. The symmetric and antisymmetric parts of the complex
# transform are the transforms of the elements at even and at odd indices.


def pack_pairs(builder: OperationBuilder, value: TensorValue) -> TensorValue:
    """Return each pair of neighbours of a line as one complex number."""
    *outer, size = value.type.shape
    half, rank = size // 2, len(outer)
    pairs = builder.create("reshape", [value], (*outer, half, 2), builder.real)
    parts = [builder.slice(pairs, rank + 1, each, each + 1) for each in range(2)]
    parts = [builder.create("reshape", [each], (*outer, half), builder.real) for each in parts]
    return builder.create("complex", parts, (*outer, half))


def unpack_pairs(builder: OperationBuilder, value: TensorValue) -> TensorValue:
    """Return the real and imaginary parts as neighbours of a line; inverse of `pack_pairs`."""
    *outer, half = value.type.shape
    given, shape, kind = value.type.shape, (*outer, half, 1), builder.real
    parts = [builder.create(part, [value], given, kind) for part in ("real", "imag")]
    parts = [builder.create("reshape", [each], shape, kind) for each in parts]
    pairs = (*outer, half, 2)
    whole = builder.create("concatenate", parts, pairs, kind, dimension=len(outer) + 1)
    return builder.create("reshape", [whole], (*outer, 2 * half), kind)


def split_packed_spectrum(
    builder: OperationBuilder, value: TensorValue, roots: Array
) -> TensorValue:
    """Return the first half of a line's spectrum, given the spectrum of its pairs.

    `roots` are the roots of unity for the length of the line.
    """
    *outer, half = value.type.shape
    shape, axis = (*outer, half + 1), len(outer)
    first = builder.slice(value, axis, 0, 1)
    ahead = builder.create("concatenate", [value, first], shape, dimension=axis)
    back = builder.create("reverse", [value], value.type.shape, dimensions=(axis,))
    behind = builder.conjugate(builder.create("concatenate", [first, back], shape, dimension=axis))
    turn = -0.5j * roots[: half + 1]
    return _combine(builder, (ahead, behind), turn, np.full(half + 1, 0.5))


def pack_half_spectrum(builder: OperationBuilder, value: TensorValue, roots: Array) -> TensorValue:
    """Return twice the spectrum of a line's pairs, given the first half of its spectrum."""
    *outer, size = value.type.shape
    half, axis = size - 1, len(outer)
    # The first and the last number are real: their imaginary parts are ignored.
    shape = value.type.shape
    ends = np.isin(np.arange(size), (0, half))
    real = builder.create("real", [value], shape, builder.real)
    truth = ELEMENT_TYPES["i1"]
    given = [builder.create_constant(ends, truth)]
    chosen = builder.create("broadcast_in_dim", given, shape, truth, broadcast_dimensions=(axis,))
    real = builder.create("convert", [real], shape)
    value = builder.create("select", [chosen, real, value], shape)
    ahead = builder.slice(value, axis, 0, half)
    back = builder.create("reverse", [value], shape, dimensions=(axis,))
    behind = builder.conjugate(builder.slice(back, axis, 0, half))
    return _combine(builder, (ahead, behind), 1j * roots[:half], np.ones(half))


def _combine(
    builder: OperationBuilder, both: tuple[TensorValue, TensorValue], turn: Array, scale: Array
) -> TensorValue:
    """Return the sum times `scale` plus the difference times `turn`, both indexed by place."""
    shape = both[0].type.shape
    axis = len(shape) - 1
    added = builder.scale_along(builder.create("add", list(both), shape), scale, axis)
    apart = builder.scale_along(builder.create("subtract", list(both), shape), turn, axis)
    return builder.create("add", [added, apart], shape)


def mirror_half_spectrum(builder: OperationBuilder, value: TensorValue, length: int) -> TensorValue:
    """Return the whole of a Hermitian line from its first half."""
    axis = len(value.type.shape) - 1
    rest = builder.conjugate(builder.slice(value, axis, 1, (length + 1) // 2))
    shape = rest.type.shape
    rest = builder.create("reverse", [rest], shape, dimensions=(axis,))
    whole = (*shape[:-1], length)
    return builder.create("concatenate", [value, rest], whole, dimension=axis)


# Lower Fourier transforms of any length, of complex and of real numbers, to steps.
#
# A length with small prime factors takes one step for each factor (Stockham's algorithm). Any other
# length becomes a convolution with a chirp, by transforms whose length is a power of two (L.
# Bluestein, 1970). Roots of unity and chirps are constants, rounded from double precision.

# Largest power of two, and largest prime, that a thread holds in registers.
MAX_RADIX, MAX_UNROLLED_RADIX = 8, 13
# The largest prime factor: a longer sum costs more, and rounds more, than a chirp.
MAX_PRIME = 61
# Products of a step's indices are 32-bit integers.
MAX_LENGTH = 2**31 // MAX_PRIME


def lower_transforms(block: Block) -> None:
    """Lower transforms to steps in place, also in regions."""
    operations: list[Operation] = []
    for operation in block.operations:
        for region in operation.regions:
            lower_transforms(region)
        if operation.name == "fft" and "radix" not in operation.attributes:
            operations += _TransformLowering(operation).operations
        else:
            operations.append(operation)
    block.operations = operations


def factorize_length(length: int) -> list[int] | None:
    """Return the radices of the steps of a length, smallest last; None if one is too large."""
    twos = (length & -length).bit_length() - 1
    rest, odd, prime = length >> twos, [], 3
    while rest > 1 and prime <= MAX_PRIME:
        while rest % prime == 0:
            odd.append(prime)
            rest //= prime
        prime += 2
    if rest > 1 or length > MAX_LENGTH:
        return None
    most = MAX_RADIX.bit_length() - 1
    count = -(-twos // most)
    return [*(2 ** ((twos + part) // count) for part in range(count))][::-1] + odd[::-1]


class _TransformLowering:
    """The operations that replace one `fft`; the last one has its result."""

    def __init__(self, whole: Operation) -> None:
        self._whole = whole
        (value,), (result,) = whole.operands, whole.results
        transformed = value.type.element if value.type.element.is_complex else result.type.element
        self._builder = OperationBuilder(whole.location, transformed)
        self.operations = self._builder.operations
        kind, lengths = whole.attributes["fft_type"], tuple(whole.attributes["fft_length"])
        rank = len(value.type.shape)
        first = rank - len(lengths)
        backwards = kind in ("IFFT", "IRFFT")
        size = lengths[-1]
        if kind == "RFFT":
            value = self._transform_real(value, size)
        for axis in range(first, rank - (kind in ("RFFT", "IRFFT"))):
            value = self._transform_axis(value, axis, backwards=backwards)
        if kind == "IRFFT":
            value = self._invert_to_real(value, size)
        self._set_result(value, 1 / prod(lengths) if backwards else 1)

    def _transform_real(self, value: TensorValue, size: int) -> TensorValue:
        """Return the first half of the spectrum of real numbers.

        For an even length, it is computed by a complex transform of half the length.
        """
        builder, last = self._builder, len(value.type.shape) - 1
        if size % 2 or not value.type.size:
            whole = self._transform_axis(builder.create("convert", [value], value.type.shape), last)
            return builder.slice(whole, last, 0, size // 2 + 1)
        return split_packed_spectrum(
            builder, self._transform_axis(pack_pairs(builder, value), last), compute_roots(size)
        )

    def _invert_to_real(self, value: TensorValue, size: int) -> TensorValue:
        """Return the unscaled inverse transform to real numbers."""
        builder, last = self._builder, len(value.type.shape) - 1
        value = builder.slice(value, last, 0, size // 2 + 1)
        if size % 2 or not value.type.size:
            return self._transform_axis(
                mirror_half_spectrum(builder, value, size), last, backwards=True
            )
        given = pack_half_spectrum(builder, value, compute_roots(size, backwards=True))
        return unpack_pairs(builder, self._transform_axis(given, last, backwards=True))

    def _set_result(self, value: TensorValue, scale: float) -> None:
        """Scale a value, and make its operation define the result of the `fft`."""
        (result,) = self._whole.results
        shape, element = value.type.shape, result.type.element
        if value.type.element != element:
            value = self._builder.create("real", [value], shape, element)
        if scale != 1:
            given = self._builder.create_constant(np.full((), scale), element)
            given = self._builder.create(
                "broadcast_in_dim", [given], shape, element, broadcast_dimensions=()
            )
            value = self._builder.create("multiply", [value, given], shape, element)
        elif value.operation not in self.operations:
            value = self._builder.create("optimization_barrier", [value], shape, element)
        producer = value.operation
        assert producer is not None
        producer.results = [result]
        result.operation = producer

    def _transform_axis(
        self, value: TensorValue, axis: int, *, backwards: bool = False
    ) -> TensorValue:
        """Return the unscaled transform along an axis."""
        length = value.type.shape[axis]
        if length < 2 or not value.type.size:
            return value
        radices = factorize_length(length)
        if radices is None:
            return self._transform_by_chirp(value, axis, backwards=backwards)
        table = self._builder.create_constant(compute_roots(length, backwards=backwards))
        done = 1
        for radix in radices:
            value = self._builder.create(
                "fft",
                [value, table],
                value.type.shape,
                axis=axis,
                backwards=backwards,
                done=done,
                looped=radix > MAX_UNROLLED_RADIX,
                radix=radix,
            )
            done *= radix
        return value

    def _transform_by_chirp(self, value: TensorValue, axis: int, *, backwards: bool) -> TensorValue:
        """Return the unscaled transform along an axis by Bluestein's algorithm."""
        length = value.type.shape[axis]
        size = 1 << (2 * length - 2).bit_length()
        chirp = _compute_chirp(length, backwards=backwards)
        other = np.zeros(size, np.complex128)
        other[:length] = chirp.conj()
        other[size - length + 1 :] = chirp[:0:-1].conj()
        given = self._builder.scale_along(value, chirp, axis)
        given = self._builder.pad_end(given, axis, size - length)
        given = self._transform_axis(given, axis)
        given = self._builder.scale_along(given, np.fft.fft(other) / size, axis)
        given = self._transform_axis(given, axis, backwards=True)
        return self._builder.scale_along(self._builder.slice(given, axis, 0, length), chirp, axis)


def compute_roots(length: int, *, backwards: bool = False) -> Array:
    """Return exp(-2 pi i k / length) for each k in double precision; conjugates if `backwards`."""
    turns = np.arange(length) / length
    found: Array = np.exp((2j if backwards else -2j) * np.pi * turns)
    return found


def _compute_chirp(length: int, *, backwards: bool) -> Array:
    """Return exp(-pi i k^2 / length) for each k; conjugates if `backwards`."""
    # Reduce the square modulo the period: in floating point it would lose digits.
    turns = np.arange(length, dtype=np.int64) ** 2 % (2 * length)
    found: Array = np.exp((1j if backwards else -1j) * np.pi * turns / length)
    return found
