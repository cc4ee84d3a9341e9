"""Elements that lanes have near each other: read and written as one row, and put in order."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.code import places, suffix
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.ir.types import Type

_MOST_APART = 4  # elements from a lane to the next
_MOST_BYTES = 2048  # of a row


def _apart(body: Body, address: Lanes, kinds: Sequence[Type], offsets: Sequence[int]) -> int:
    """Elements from one lane to the next, if a row of these has them all; else 0."""
    size = body.layout.size(kinds[0])
    if not address.is_linear or address.holds or any(each != kinds[0] for each in kinds):
        return 0
    if body.mask and not body.machine.masks(size):
        return 0
    if size == 0 or address.stride <= 0 or address.stride % size or address.stride == size:
        return 0
    apart = address.stride // size
    ends = offsets[-1] // size + 1
    if any(each % size for each in offsets) or ends > apart:
        return 0
    if address.stride * body.width > _MOST_BYTES or (apart > _MOST_APART and len(kinds) < apart):
        return 0
    return apart


def load_wide(
    body: Body, address: Lanes, kinds: Sequence[Type], offsets: Sequence[int]
) -> tuple[str, ...] | None:
    """The vectors of all components, from one row; None where there is none."""
    apart = _apart(body, address, kinds, offsets)
    if not apart:
        return None
    code, kind, count = body.code, kinds[0], apart * body.width
    size, row = body.layout.size(kind), f"<{count} x {kinds[0]}>"
    firsts = [each // size for each in offsets]
    if not body.mask and len(kinds) == apart:
        whole = code.value(f"load {row}, ptr {address.scalar}, align {size}")
    else:
        mask = _mask(body, apart, firsts)
        arguments = [
            ("ptr", address.scalar), ("i32", str(size)), (f"<{count} x i1>", mask), (row, "poison"),
        ]
        whole = code.call(f"llvm.masked.load.v{count}{suffix(kind)}.p0", row, arguments)
    return tuple(
        code.value(
            f"shufflevector {row} {whole}, {row} poison, "
            f"{places([lane * apart + first for lane in range(body.width)])}"
        )
        for first in firsts
    )


def _mask(body: Body, apart: int, firsts: Sequence[int]) -> str:
    """Which elements of a row are the active lanes' own."""
    code, chosen = body.code, []
    for lane in range(body.width):
        chosen += [lane if at in firsts else body.width for at in range(apart)]
    if not body.mask:
        items = ", ".join(f"i1 {'true' if each < body.width else 'false'}" for each in chosen)
        return f"<{items}>"
    return code.value(
        f"shufflevector {code.mask} {body.mask}, {code.mask} zeroinitializer, {places(chosen)}"
    )


def store_wide(
    body: Body,
    address: Lanes,
    kinds: Sequence[Type],
    offsets: Sequence[int],
    vectors: Sequence[str],
) -> bool:
    """Write all components as one row; whether there is one."""
    apart = _apart(body, address, kinds, offsets)
    if not apart or len(kinds) < 2:
        return False
    code, kind, count = body.code, kinds[0], apart * body.width
    size, row = body.layout.size(kind), f"<{count} x {kinds[0]}>"
    firsts = [each // size for each in offsets]
    given = ["poison"] * apart
    for first, vector in zip(firsts, vectors, strict=True):
        given[first] = vector
    whole = _interleave(body, kind, given)
    if not body.mask and len(kinds) == apart:
        code.line(f"store {row} {whole}, ptr {address.scalar}, align {size}")
        return True
    mask = _mask(body, apart, firsts)
    arguments = [
        (row, whole), ("ptr", address.scalar), ("i32", str(size)), (f"<{count} x i1>", mask),
    ]
    code.call(f"llvm.masked.store.v{count}{suffix(kind)}.p0", "void", arguments)
    return True


def _interleave(body: Body, kind: Type, vectors: Sequence[str]) -> str:
    """The first elements of all vectors, then the second ones, and so on."""
    code, count, width = body.code, len(vectors), body.width
    padded = [*vectors]
    while len(padded) & (len(padded) - 1):
        padded.append("poison")
    size = width
    while len(padded) > 1:
        part = f"<{size} x {kind}>"
        padded = [
            code.value(
                f"shufflevector {part} {one}, {part} {other}, {places(range(2 * size))}"
            )
            for one, other in zip(padded[::2], padded[1::2], strict=True)
        ]
        size *= 2
    joined = f"<{size} x {kind}>"
    order = [which * width + lane for lane in range(width) for which in range(count)]
    return code.value(
        f"shufflevector {joined} {padded[0]}, {joined} poison, {places(order)}"
    )
