"""Generate steps of Fourier transforms; a thread transforms its elements in registers.

Before a step, a line consists of transforms of `done` elements each, in order; after it, of `radix`
times as many elements each. The second operand is the table of roots of unity for the whole line.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin

from metalbench.hlo.codegen.kernel import KernelStage
from metalbench.hlo.codegen.writer import KernelWriter, format_literal, format_loop
from metalbench.hlo.ir import ElementType, Operation


def build_fft(operation: Operation) -> list[KernelStage]:
    """Return the stage of one transform step along an axis.

    A `looped` factor is a direct sum of `radix` terms: one thread for each element.
    """
    return [
        (_build_direct_sums if operation.attributes["looped"] else _build_butterflies)(operation)
    ]


def _build_butterflies(operation: Operation) -> KernelStage:
    value, table = operation.operands
    axis, radix, done = (operation.attributes[each] for each in ("axis", "radix", "done"))
    backwards = operation.attributes["backwards"]
    shape, kind = value.type.shape, value.type.element
    length = shape[axis]
    part = length // radix
    threads = (*shape[:axis], part, *shape[axis + 1 :])

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        index = list(writer.unravel_index(thread, threads))
        own = index[axis]
        place = "0" if done == 1 else writer.declare_index(f"{own} % {done}")
        numbers = []
        for number in range(radix):
            index[axis] = writer.declare_index(f"{own} + {number * part}") if number else own
            element = writer.emit_value(value, index)
            if number and done > 1:
                step = number * (length // (done * radix))
                root = writer.emit_value(table, (writer.declare_index(f"{place} * {step}"),))
                element = writer.declare(kind.msl, f"shlo::times({element}, {root})")
            numbers.append(element)
        found = emit_transform(writer, numbers, 1 if backwards else -1, kind)
        start = writer.declare_index(f"({own} - {place}) * {radix} + {place}")
        for number, element in enumerate(found):
            index[axis] = writer.declare_index(f"{start} + {number * done}") if number else start
            writer.add_line(f"{outputs[0]}[{writer.linearize(index, shape)}] = {element};")

    return KernelStage(value.type.size // radix, write)


def _build_direct_sums(operation: Operation) -> KernelStage:
    value, table = operation.operands
    axis, radix, done = (operation.attributes[each] for each in ("axis", "radix", "done"))
    shape, kind = value.type.shape, value.type.element
    length = shape[axis]

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        index = list(writer.unravel_index(thread, shape))
        within = writer.declare_index(f"{index[axis]} % {done * radix}")
        first = writer.declare_index(f"{index[axis]} / {done * radix} * {done} + {within} % {done}")
        total = writer.declare_variable(kind.msl, format_literal(0, kind))
        with writer.open_block(format_loop("k", radix)):
            index[axis] = writer.declare_index(f"{first} + k * {length // radix}")
            turn = f"k * {within} % {done * radix} * {length // (done * radix)}"
            root = writer.emit_value(table, (writer.declare_index(turn),))
            writer.add_line(f"{total} += shlo::times({writer.emit_value(value, index)}, {root});")
        writer.add_line(f"{outputs[0]}[i] = {total};")

    return KernelStage(value.type.size, write)


def emit_transform(
    writer: KernelWriter, numbers: Sequence[str], sign: int, kind: ElementType
) -> list[str]:
    """Emit a discrete Fourier transform of `numbers`; `sign` is that of the exponent.

    `kind` is their complex type. Return the names of the results.
    """
    count = len(numbers)
    prime = next((each for each in (2, 3, 5, 7, 11, 13) if count % each == 0), count)
    if count == prime:
        return _emit_prime_transform(writer, numbers, sign, kind)
    inner = [emit_transform(writer, numbers[start::prime], sign, kind) for start in range(prime)]
    rest = count // prime
    found = [""] * count
    for number in range(rest):
        turned = [
            _emit_rotation(writer, inner[start][number], (sign * start * number, count), kind)
            for start in range(prime)
        ]
        found[number::rest] = _emit_prime_transform(writer, turned, sign, kind)
    return found


def _emit_prime_transform(
    writer: KernelWriter, numbers: Sequence[str], sign: int, kind: ElementType
) -> list[str]:
    """Emit a transform of prime length.

    Elements at the same distance from both ends share their cosines and sines.
    """
    first, count = numbers[0], len(numbers)
    if count == 1:
        return [first]
    if count == 2:
        return [writer.declare(kind.msl, f"{first} {each} {numbers[1]}") for each in "+-"]
    half = range(1, count // 2 + 1)
    sums, differences = (
        [writer.declare(kind.msl, f"{numbers[k]} {each} {numbers[count - k]}") for k in half]
        for each in "+-"
    )
    found = [writer.declare(kind.msl, " + ".join([first, *sums]))] + [""] * (count - 1)
    for number in half:
        angles = [2 * pi * (number * k % count) / count for k in half]
        cosines = [format_literal(cos(each), kind.arithmetic) for each in angles]
        sines = [format_literal(sign * sin(each), kind.arithmetic) for each in angles]
        even = [f"{factor} * {name}" for factor, name in zip(cosines, sums, strict=True)]
        odd = [f"{factor} * {name}" for factor, name in zip(sines, differences, strict=True)]
        middle = writer.declare(kind.msl, " + ".join([first, *even]))
        aside = writer.declare(kind.msl, f"shlo::times_i({' + '.join(odd)})")
        found[number] = writer.declare(kind.msl, f"{middle} + {aside}")
        found[count - number] = writer.declare(kind.msl, f"{middle} - {aside}")
    return found


def _emit_rotation(
    writer: KernelWriter, name: str, turn: tuple[int, int], kind: ElementType
) -> str:
    """Emit a number times exp(2 pi i part / count) for the turn (part, count)."""
    part, count = turn[0] % turn[1], turn[1]
    quarters = 4 * part / count
    if quarters == 0:
        return name
    if quarters == 1:
        return writer.declare(kind.msl, f"shlo::times_i({name})")
    if quarters == 2:
        return writer.declare(kind.msl, f"-{name}")
    if quarters == 3:
        return writer.declare(kind.msl, f"shlo::times_minus_i({name})")
    angle = 2 * pi * part / count
    root = format_literal(complex(cos(angle), sin(angle)), kind)
    return writer.declare(kind.msl, f"shlo::times({name}, {root})")
