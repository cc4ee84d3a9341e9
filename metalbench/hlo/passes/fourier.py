"""Fourier transforms of any lengths and of real numbers, as steps over whole tensors.

A length of small prime factors is gone through factor by factor, in order (Stockham). Any other is
a convolution with a chirp, by transforms of a power of two (L. Bluestein, 1970). Roots of unity and
chirps are constants, rounded from double precision. What is real is transformed as complex.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from metalbench.hlo.graph import ELEMENTS, Block, Operation, TensorType, Value

# Powers of two that a thread has of a line at a time, and primes; larger ones are sums in a loop.
MOST_RADIX, MOST_IN_REGISTERS = 8, 13
# The largest prime factor; a sum of more terms would round and cost more than a chirp.
MOST_PRIME = 61
# Products of a step's indices are 32-bit integers.
MOST_LENGTH = 2**31 // MOST_PRIME
_COMPLEX, _REAL = ELEMENTS["complex<f32>"], ELEMENTS["f32"]
Array = np.ndarray[Any, Any]


def split_transforms(block: Block) -> None:
    """Split transforms into steps in place, also in the regions."""
    operations: list[Operation] = []
    for operation in block.operations:
        for region in operation.regions:
            split_transforms(region)
        if operation.name == "fft" and "radix" not in operation.attributes:
            operations += _Transform(operation).operations
        else:
            operations.append(operation)
    block.operations = operations


def factors(length: int) -> list[int] | None:
    """The radices of a length's steps, smallest last; None if one would be too large."""
    twos = (length & -length).bit_length() - 1
    rest, odd, prime = length >> twos, [], 3
    while rest > 1 and prime <= MOST_PRIME:
        while rest % prime == 0:
            odd.append(prime)
            rest //= prime
        prime += 2
    if rest > 1 or length > MOST_LENGTH:
        return None
    most = MOST_RADIX.bit_length() - 1
    count = -(-twos // most)
    return [*(2 ** ((twos + part) // count) for part in range(count))][::-1] + odd[::-1]


class _Transform:
    """One `fft` as operations in order, the last of which has its result."""

    def __init__(self, whole: Operation) -> None:
        self._whole = whole
        self.operations: list[Operation] = []
        kind, lengths = whole.attributes["fft_type"], tuple(whole.attributes["fft_length"])
        (value,) = whole.operands
        rank = len(value.type.shape)
        first, last = rank - len(lengths), rank - 1
        backwards = kind in ("IFFT", "IRFFT")
        shape = whole.results[0].type.shape
        if kind == "RFFT":
            value = self._made("convert", [value], value.type.shape)
            value = self._along(value, last, backwards=False)
            value = self._cut(value, last, 0, shape[last])
        for axis in range(first, rank - (kind in ("RFFT", "IRFFT"))):
            value = self._along(value, axis, backwards=backwards)
        if kind == "IRFFT":
            value = self._along(self._mirrored(value, shape[last]), last, backwards=True)
        self._give(value, 1 / prod(lengths) if backwards else 1)

    def _give(self, value: Value, scale: float) -> None:
        """The result in place of the whole's own."""
        (result,) = self._whole.results
        shape, element = value.type.shape, result.type.element
        if value.type.element != element:
            value = self._made("real", [value], shape, element)
        if scale != 1:
            given = self._constant(np.full((), scale), element)
            given = self._made("broadcast_in_dim", [given], shape, element, broadcast_dimensions=())
            value = self._made("multiply", [value, given], shape, element)
        elif value.operation not in self.operations:
            value = self._made("optimization_barrier", [value], shape, element)
        made = value.operation
        assert made is not None
        made.results = [result]
        result.operation = made

    def _along(self, value: Value, axis: int, *, backwards: bool) -> Value:
        """The transform along an axis, without what divides by its length."""
        length = value.type.shape[axis]
        if length < 2 or not value.type.size:
            return value
        radices = factors(length)
        if radices is None:
            return self._by_chirp(value, axis, backwards=backwards)
        table = self._constant(roots(length, backwards=backwards))
        done = 1
        for radix in radices:
            value = self._made("fft", [value, table], value.type.shape)
            assert value.operation is not None
            value.operation.attributes = {
                "axis": axis,
                "backwards": backwards,
                "done": done,
                "looped": radix > MOST_IN_REGISTERS,
                "radix": radix,
            }
            done *= radix
        return value

    def _by_chirp(self, value: Value, axis: int, *, backwards: bool) -> Value:
        length = value.type.shape[axis]
        size = 1 << (2 * length - 2).bit_length()
        chirp = _chirp(length, backwards=backwards)
        other = np.zeros(size, np.complex128)
        other[:length] = chirp.conj()
        other[size - length + 1 :] = chirp[:0:-1].conj()
        given = self._times(value, chirp, axis)
        given = self._padded(given, axis, size - length)
        given = self._along(given, axis, backwards=False)
        given = self._times(given, np.fft.fft(other) / size, axis)
        given = self._along(given, axis, backwards=True)
        return self._times(self._cut(given, axis, 0, length), chirp, axis)

    def _mirrored(self, value: Value, length: int) -> Value:
        """All of a line whose second half is the first's conjugate, backwards."""
        axis = len(value.type.shape) - 1
        value = self._cut(value, axis, 0, length // 2 + 1)
        rest = self._cut(value, axis, 1, (length + 1) // 2)
        shape = rest.type.shape
        real, imaginary = (self._made(part, [rest], shape, _REAL) for part in ("real", "imag"))
        negative = self._made("negate", [imaginary], shape, _REAL)
        rest = self._made("complex", [real, negative], shape)
        rest = self._made("reverse", [rest], shape, dimensions=(axis,))
        whole = (*shape[:-1], length)
        return self._made("concatenate", [value, rest], whole, dimension=axis)

    def _cut(self, value: Value, axis: int, start: int, stop: int) -> Value:
        shape = list(value.type.shape)
        if (start, stop) == (0, shape[axis]):
            return value
        starts = [start if each == axis else 0 for each in range(len(shape))]
        limits = [stop if each == axis else size for each, size in enumerate(shape)]
        shape[axis] = stop - start
        attributes = {"start_indices": starts, "limit_indices": limits, "strides": [1] * len(shape)}
        return self._made("slice", [value], tuple(shape), **attributes)

    def _padded(self, value: Value, axis: int, more: int) -> Value:
        shape = list(value.type.shape)
        high = [more if each == axis else 0 for each in range(len(shape))]
        shape[axis] += more
        none = [0] * len(shape)
        attributes = {
            "edge_padding_low": none,
            "edge_padding_high": high,
            "interior_padding": none,
        }
        zero = self._constant(np.complex64(0))
        return self._made("pad", [value, zero], tuple(shape), **attributes)

    def _times(self, value: Value, numbers: Array, axis: int) -> Value:
        """Each element along an axis times a number of its own."""
        given, shape = self._constant(numbers), value.type.shape
        given = self._made("broadcast_in_dim", [given], shape, broadcast_dimensions=(axis,))
        return self._made("multiply", [value, given], shape)

    def _constant(self, numbers: Any, element: Any = _COMPLEX) -> Value:
        array = np.asarray(numbers, element.storage)
        return self._made("constant", [], array.shape, element, value=array)

    def _made(
        self,
        name: str,
        operands: list[Value],
        shape: tuple[int, ...],
        element: Any = _COMPLEX,
        **attributes: Any,
    ) -> Value:
        made = Operation(name, operands, [], attributes, [], self._whole.location)
        made.results = [Value(TensorType(shape, element), made)]
        self.operations.append(made)
        return made.results[0]


def roots(length: int, *, backwards: bool) -> Array:
    """exp(-2 pi i k / length) for each k, in double precision; the conjugates backwards."""
    turns = np.arange(length) / length
    found: Array = np.exp((2j if backwards else -2j) * np.pi * turns)
    return found


def _chirp(length: int, *, backwards: bool) -> Array:
    """exp(-pi i k^2 / length) for each k; the conjugates backwards."""
    # The square by what goes around: it would lose its digits.
    turns = np.arange(length, dtype=np.int64) ** 2 % (2 * length)
    found: Array = np.exp((1j if backwards else -1j) * np.pi * turns / length)
    return found
