"""Addresses: of elements, and of private memory that lanes have side by side."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.lanes import Lanes, Near, splat
from metalbench.msl.emission.one_by_one import follows, of_lane
from metalbench.msl.ir.model import Alloca, ElementPointer, Value
from metalbench.msl.ir.types import Int
from metalbench.msl.vector.private import ALIGNMENT
from metalbench.msl.vector.shapes import UNIFORM, Affine

_LINE = 64  # bytes of a cache line
_WORD = Int(64)


def address(body: Body, pointer: ElementPointer) -> Lanes:
    """`getelementptr`."""
    operands = [body.get(each) for each in pointer.operands]
    uniformity = body.analysis.uniformity.get(Value(pointer.type, pointer.result))
    if pointer.operands[0].text in body.analysis.layout.interleaved:
        return _interleaved(body, pointer, operands)
    if all(each.is_uniform for each in operands):
        return Lanes(pointer.type, _plain(body, pointer, operands, promises=True))
    if uniformity is UNIFORM:  # of what differs from lane to lane in the same way
        return Lanes(pointer.type, _plain(body, pointer, operands))
    if not isinstance(uniformity, Affine):
        near = _near(body, pointer, operands)
        if near is not None:
            return Lanes(pointer.type, near=near)
        return Lanes(pointer.type, vectors=(_vector(body, pointer, operands),))
    found = Lanes(pointer.type, _plain(body, pointer, operands), uniformity.stride)
    if uniformity.checked:
        found.holds = _all(body, [each.holds for each in operands if each.holds])
        found.later = lambda: (_vector(body, pointer, operands),)
        if all(follows(each) for each in operands):
            found.one = lambda lane: _of_lane(body, pointer, operands, lane)
    return found


def _of_lane(body: Body, pointer: ElementPointer, operands: Sequence[Lanes], lane: str) -> str:
    given = ", ".join(f"{each.type} {of_lane(body, each, [], lane)}" for each in operands)
    return body.code.value(f"getelementptr {pointer.element}, {given}")


def _near(body: Body, pointer: ElementPointer, operands: Sequence[Lanes]) -> Near | None:
    """What is known of an address with one index, which was widened in this block."""
    base, *indices = operands
    widening = body.here.get(pointer.operands[-1].text)
    if not base.is_uniform or len(indices) != 1 or widening is None:
        return None
    narrow = widening.operands[0]
    if widening.opcode not in ("zext", "sext") or narrow.type != Int(32):
        return None
    size = body.layout.size(pointer.element)
    return Near(base.scalar, body.vector(body.get(narrow)), widening.opcode, size)


def _all(body: Body, conditions: Sequence[str]) -> str:
    found = conditions[0] if conditions else "true"
    for each in conditions[1:]:
        found = body.code.value(f"and i1 {found}, {each}")
    return found


def _plain(
    body: Body, pointer: ElementPointer, operands: Sequence[Lanes], *, promises: bool = False
) -> str:
    flags = "".join(f"{each} " for each in pointer.flags) if promises else ""
    given = ", ".join(f"{each.type} {each.scalar}" for each in operands)
    return body.code.value(f"getelementptr {flags}{pointer.element}, {given}")


def _vector(body: Body, pointer: ElementPointer, operands: Sequence[Lanes]) -> str:
    given = []
    for each in operands:
        if each.is_uniform:
            given.append(f"{each.type} {each.scalar}")
        else:
            given.append(f"{body.code.lanes(each.type)} {body.vector(each)}")
    return body.code.value(f"getelementptr {pointer.element}, {', '.join(given)}")


def _interleaved(body: Body, pointer: ElementPointer, operands: Sequence[Lanes]) -> Lanes:
    """Bytes from the variable's start count once for every lane."""
    code, base = body.code, operands[0]
    fixed, inside, moving = 0, pointer.element, []
    for place, index in enumerate(operands[1:]):
        number = pointer.operands[place + 1].integer
        if place:
            offset, inside_next = body.layout.member(inside, number or 0)
        else:
            offset, inside_next = (number or 0) * body.layout.size(inside), inside
        if number is not None:
            fixed += offset
        else:
            moving.append((index, body.layout.size(inside_next) * body.width))
        inside = inside_next
    fixed *= body.width
    if base.is_linear and all(each.is_linear and not each.holds for each, _ in moving):
        return _interleaved_scalar(body, base, fixed, moving)
    lanes = code.lanes("i64")
    total = splat(code, _WORD, str(fixed))
    for index, size in moving:
        scaled = code.value(f"mul {lanes} {_wide(body, index)}, splat (i64 {size})")
        total = code.value(f"add {lanes} {total}, {scaled}")
    vector = body.vector(base)
    found = code.value(f"getelementptr i8, {code.lanes(base.type)} {vector}, {lanes} {total}")
    return Lanes(base.type, vectors=(found,))


def _interleaved_scalar(
    body: Body, base: Lanes, fixed: int, moving: Sequence[tuple[Lanes, int]]
) -> Lanes:
    code, found, stride = body.code, base.scalar, base.stride
    for index, size in moving:
        number = index.scalar
        if index.type != _WORD:
            number = code.value(f"sext {index.type} {number} to i64")
        scaled = code.value(f"mul i64 {number}, {size}")
        found = code.value(f"getelementptr i8, {base.type} {found}, i64 {scaled}")
        stride += index.stride * size
    if fixed:
        found = code.value(f"getelementptr i8, {base.type} {found}, i64 {fixed}")
    return Lanes(base.type, found, stride)


def _wide(body: Body, index: Lanes) -> str:
    vector = body.vector(index)
    if index.type == _WORD:
        return vector
    code = body.code
    return code.value(f"sext {code.lanes(index.type)} {vector} to {code.lanes('i64')}")


def variable(body: Body, alloca: Alloca) -> Lanes:
    """`alloca`: once for all lanes, or once for each of them."""
    size = body.layout.size(alloca.allocated)
    alignment = max(alloca.alignment, ALIGNMENT)
    stride = body.analysis.layout.strides.get(alloca.result, 0)
    if stride == 0:
        return Lanes(alloca.type, body.code.variable(str(alloca.allocated), alignment))
    whole = -(-size // ALIGNMENT) * ALIGNMENT * body.width
    return Lanes(alloca.type, body.code.variable(f"[{whole} x i8]", _LINE), stride)
