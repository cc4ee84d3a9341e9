"""Steps of Fourier transforms: what a thread has of a line is transformed in its registers.

Before a step a line is made of transforms of `done` numbers each, in order; afterwards, of `radix`
times as many. Roots of unity are a table of the whole line's.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin

from metalbench.hlo.emission.kernel import Stage
from metalbench.hlo.emission.literal import literal
from metalbench.hlo.emission.writer import Writer, loop
from metalbench.hlo.graph import ELEMENTS, Operation

_COMPLEX, _REAL = ELEMENTS["complex<f32>"], ELEMENTS["f32"]


def fft(operation: Operation) -> list[Stage]:
    """One step along an axis, as a pass made it of a transform.

    Factors that are `looped` are sums of as many terms, a thread an element.
    """
    return [(_sums if operation.attributes["looped"] else _butterflies)(operation)]


def _butterflies(operation: Operation) -> Stage:
    value, table = operation.operands
    axis, radix, done = (operation.attributes[each] for each in ("axis", "radix", "done"))
    backwards = operation.attributes["backwards"]
    shape = value.type.shape
    length = shape[axis]
    part = length // radix
    threads = (*shape[:axis], part, *shape[axis + 1 :])

    def write(writer: Writer, thread: str, outputs: list[str]) -> None:
        index = list(writer.unravel(thread, threads))
        own = index[axis]
        place = "0" if done == 1 else writer.index(f"{own} % {done}")
        numbers = []
        for number in range(radix):
            index[axis] = writer.index(f"{own} + {number * part}") if number else own
            element = writer.value(value, index)
            if number and done > 1:
                step = number * (length // (done * radix))
                root = writer.value(table, (writer.index(f"{place} * {step}"),))
                element = writer.declare("float2", f"shlo::times({element}, {root})")
            numbers.append(element)
        found = transformed(writer, numbers, 1 if backwards else -1)
        start = writer.index(f"({own} - {place}) * {radix} + {place}")
        for number, element in enumerate(found):
            index[axis] = writer.index(f"{start} + {number * done}") if number else start
            writer.line(f"{outputs[0]}[{writer.linear(index, shape)}] = {element};")

    return Stage(value.type.size // radix, write)


def _sums(operation: Operation) -> Stage:
    value, table = operation.operands
    axis, radix, done = (operation.attributes[each] for each in ("axis", "radix", "done"))
    shape = value.type.shape
    length = shape[axis]

    def write(writer: Writer, thread: str, outputs: list[str]) -> None:
        index = list(writer.unravel(thread, shape))
        within = writer.index(f"{index[axis]} % {done * radix}")
        first = writer.index(f"{index[axis]} / {done * radix} * {done} + {within} % {done}")
        total = writer.variable("float2", "float2(0.0f, 0.0f)")
        with writer.block(loop("k", radix)):
            index[axis] = writer.index(f"{first} + k * {length // radix}")
            turn = f"k * {within} % {done * radix} * {length // (done * radix)}"
            root = writer.value(table, (writer.index(turn),))
            writer.line(f"{total} += shlo::times({writer.value(value, index)}, {root});")
        writer.line(f"{outputs[0]}[i] = {total};")

    return Stage(value.type.size, write)


def transformed(writer: Writer, numbers: Sequence[str], sign: int) -> list[str]:
    """The names of sums of `numbers` times roots of unity, whose angles have this sign."""
    count = len(numbers)
    prime = next((each for each in (2, 3, 5, 7, 11, 13) if count % each == 0), count)
    if count == prime:
        return _of_prime(writer, numbers, sign)
    inner = [transformed(writer, numbers[start::prime], sign) for start in range(prime)]
    rest = count // prime
    found = [""] * count
    for number in range(rest):
        turned = [
            _turned(writer, inner[start][number], sign * start * number, count)
            for start in range(prime)
        ]
        found[number::rest] = _of_prime(writer, turned, sign)
    return found


def _of_prime(writer: Writer, numbers: Sequence[str], sign: int) -> list[str]:
    """Of a prime count: numbers as far from both ends share their cosines and sines."""
    first, count = numbers[0], len(numbers)
    if count == 1:
        return [first]
    if count == 2:
        return [writer.declare("float2", f"{first} {each} {numbers[1]}") for each in "+-"]
    half = range(1, count // 2 + 1)
    sums, differences = (
        [writer.declare("float2", f"{numbers[k]} {each} {numbers[count - k]}") for k in half]
        for each in "+-"
    )
    found = [writer.declare("float2", " + ".join([first, *sums]))] + [""] * (count - 1)
    for number in half:
        angles = [2 * pi * (number * k % count) / count for k in half]
        even = [f"{_real(cos(a))} * {name}" for a, name in zip(angles, sums, strict=True)]
        odd = [f"{_real(sign * sin(a))} * {d}" for a, d in zip(angles, differences, strict=True)]
        middle = writer.declare("float2", " + ".join([first, *even]))
        aside = writer.declare("float2", f"shlo::turned({' + '.join(odd)})")
        found[number] = writer.declare("float2", f"{middle} + {aside}")
        found[count - number] = writer.declare("float2", f"{middle} - {aside}")
    return found


def _turned(writer: Writer, name: str, part: int, count: int) -> str:
    """A number times exp(2 pi i part / count)."""
    part %= count
    quarters = 4 * part / count
    if quarters == 0:
        return name
    if quarters == 1:
        return writer.declare("float2", f"shlo::turned({name})")
    if quarters == 2:
        return writer.declare("float2", f"-{name}")
    if quarters == 3:
        return writer.declare("float2", f"shlo::turned_back({name})")
    angle = 2 * pi * part / count
    root = literal(complex(cos(angle), sin(angle)), _COMPLEX)
    return writer.declare("float2", f"shlo::times({name}, {root})")


def _real(number: float) -> str:
    return literal(number, _REAL)
