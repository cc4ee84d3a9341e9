"""Functions of a SIMD-group, as operations on the vector of its lanes."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.access import Access
from metalbench.msl.emission.body import Body, bits_of
from metalbench.msl.emission.code import Code, places
from metalbench.msl.emission.functions import joined
from metalbench.msl.emission.lanes import Lanes, Near, splat
from metalbench.msl.emission.markers import (
    MEET,
    PREFIX,
    REDUCTIONS,
    SIMD_WIDTH,
    group_function,
    is_place,
)
from metalbench.msl.emission.one_by_one import ROW_ALIGNMENT, lying, stored
from metalbench.msl.emission.scattered import scattered
from metalbench.msl.ir.model import Call
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, POINTER, Float, Type
from metalbench.msl.vector.shapes import Constant

_JOIN = {
    "sum": "add",
    "product": "mul",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "min": "llvm.umin",
    "max": "llvm.umax",
}
_JOIN_FLOATS = {"sum": "fadd", "product": "fmul", "min": "llvm.minnum", "max": "llvm.maxnum"}
_INFINITY = {"half": "0xH7C00", "bfloat": "0xR7F80", "float": "0x7FF0000000000000"}
_MINUS_INFINITY = {"half": "0xHFC00", "bfloat": "0xRFF80", "float": "0xFFF0000000000000"}
_ONE = {"half": "0xH3C00", "bfloat": "0xR3F80", "float": "1.0"}


def marked(body: Body, call: Call) -> Lanes | None:
    """What a marker stands for; None where nothing comes out. Raises IrError."""
    name = call.name.removeprefix(PREFIX)
    if name == "barrier":
        body.code.call(MEET, "void", [])
        return None
    if is_place(call.name):
        return body.position(name, call.type)
    if body.width != SIMD_WIDTH:
        raise IrError(f"{call.name}: a SIMD-group has {SIMD_WIDTH} lanes")
    operands = [body.get(each) for each in call.operands]
    if name == "ballot":
        return Lanes(call.type, _ballot(body, operands[0]))
    group = group_function(call.name)
    if group is None:
        raise IrError(f"{call.name} is not known")
    return _of_group(body, call, group.function, operands)


def _of_group(body: Body, call: Call, function: str, operands: Sequence[Lanes]) -> Lanes:
    if function == "first":
        return Lanes(call.type, _first(body, operands[0]))
    if function == "shuffle":
        uniformity = body.uniformity(call.operands[1])
        known = uniformity.values if isinstance(uniformity, Constant) else None
        return _shuffle(body, operands[0], operands[1], known)
    if function in REDUCTIONS:
        return Lanes(call.type, _reduce(body, function, operands[0]))
    order, _, joined_by = function.partition("_")
    vector = _scan(body, joined_by, operands[0], inclusive=order == "inclusive")
    return Lanes(call.type, vectors=(vector,))


def _ballot(body: Body, vote: Lanes) -> str:
    return body.code.number(body.code.among(body.mask, body.vector(vote)))


def _first(body: Body, lanes: Lanes) -> str:
    if lanes.is_uniform:
        return lanes.scalar
    code, at = body.code, "0"
    if body.mask:
        at = code.first(bits_of(body))
    vector = body.vector(lanes)
    return code.value(f"extractelement {code.lanes(lanes.type)} {vector}, {code.bits} {at}")


def identity(function: str, type_: Type) -> str:
    """What changes nothing."""
    if isinstance(type_, Float):
        if function in ("sum", "product"):
            return "zeroinitializer" if function == "sum" else _ONE[type_.name]
        return (_INFINITY if function == "min" else _MINUS_INFINITY)[type_.name]
    if function in ("and", "min"):
        return "true" if type_ == BOOL else "-1"
    return "1" if function == "product" else "zeroinitializer"


def _join(body: Body, function: str, type_: Type, one: str, other: str, *, count: int) -> str:
    name = (_JOIN_FLOATS if isinstance(type_, Float) else _JOIN)[function]
    if isinstance(type_, Float) and type_.name != "float" and name.startswith("llvm."):
        relation = "olt" if function == "min" else "ogt"
        return _extreme(body.code, relation, (f"<{count} x", type_), one, other)
    return joined(body.code, name, type_, one, other, count=count)


def _extreme(code: Code, relation: str, kind: tuple[str, Type], one: str, other: str) -> str:
    """The least or greatest of halfs, for which LLVM would call a function; numbers before NaN."""
    many, type_ = kind
    lanes, truth = f"{many} {type_}>", f"{many} i1>"
    better = code.value(f"fcmp {relation} {lanes} {other}, {one}")
    none = code.value(f"fcmp uno {lanes} {one}, {one}")
    either = code.value(f"or {truth} {better}, {none}")
    return code.value(f"select {truth} {either}, {lanes} {other}, {lanes} {one}")


def _active(body: Body, lanes: Lanes, otherwise: str) -> str:
    """The lanes' values, and another for those that are not active."""
    code, vector, kind = body.code, body.vector(lanes), body.code.lanes(lanes.type)
    if not body.mask:
        return vector
    other = splat(code, lanes.type, otherwise)
    return code.value(f"select {code.mask} {body.mask}, {kind} {vector}, {kind} {other}")


def _reduce(body: Body, function: str, lanes: Lanes) -> str:
    """By halves, as lanes on fibers are: the upper joins the lower."""
    code, type_ = body.code, lanes.type
    found, count = _active(body, lanes, identity(function, type_)), body.width
    while count > 1:
        half, vector = count // 2, f"<{count} x {type_}>"
        low, high = (
            code.value(
                f"shufflevector {vector} {found}, {vector} poison, "
                f"{places(range(first, first + half))}"
            )
            for first in (0, half)
        )
        found = _join(body, function, type_, low, high, count=half)
        count = half
    return code.value(f"extractelement <1 x {type_}> {found}, i64 0")


def _scan(body: Body, function: str, lanes: Lanes, *, inclusive: bool) -> str:
    """In five steps, each from twice as far."""
    code, type_, width = body.code, lanes.type, body.width
    neutral = identity(function, type_)
    kind, rest = code.lanes(type_), splat(code, type_, neutral)

    def from_below(vector: str, distance: int) -> str:
        order = [lane - distance if lane >= distance else width for lane in range(width)]
        return code.value(f"shufflevector {kind} {vector}, {kind} {rest}, {places(order)}")

    found = _brought(body, lanes, neutral)
    if not inclusive:
        found = from_below(found, 1)
    distance = 1
    while distance < width:
        found = _join(body, function, type_, from_below(found, distance), found, count=width)
        distance *= 2
    return found


def _shuffle(body: Body, lanes: Lanes, source: Lanes, known: Sequence[int] | None) -> Lanes:
    """Every lane has another's value; zero where that is not active, or no lane."""
    code, type_ = body.code, lanes.type
    kind = code.lanes(type_)
    if known is None and source.is_uniform and source.scalar.isdigit():
        known = (int(source.scalar),) * body.width
    if known is not None and source.is_uniform:
        if not 0 <= known[0] < body.width:
            return Lanes(type_, "zeroinitializer")
        vector = _brought(body, lanes, "zeroinitializer")
        return Lanes(type_, code.value(f"extractelement {kind} {vector}, i64 {known[0]}"))
    vector = _brought(body, lanes, "zeroinitializer")
    if known is not None:
        order = [each if each < body.width else body.width for each in known]
        found = code.value(
            f"shufflevector {kind} {vector}, {kind} zeroinitializer, {places(order)}"
        )
        return Lanes(type_, vectors=(found,))
    if source.is_uniform:
        inside = code.value(f"icmp ult {source.type} {source.scalar}, {body.width}")
        at = code.value(f"and {source.type} {source.scalar}, {body.width - 1}")
        one = code.value(f"extractelement {kind} {vector}, {source.type} {at}")
        none = "false" if type_ == BOOL else "zeroinitializer"
        return Lanes(type_, code.value(f"select i1 {inside}, {type_} {one}, {type_} {none}"))
    return Lanes(type_, vectors=(_permute(body, vector, source, type_),))


def _brought(body: Body, lanes: Lanes, otherwise: str) -> str:
    """What every lane has for each of the others, and another value for those not active.

    Where processors have masks of their own, LLVM 22 leaves out a choice of constants by one that
    also decides, behind a shuffle, what another choice takes: of numbers in
    `choose(m, shuffle(choose(m, numbers, 0)), 0)` it forgets the inner one, though lanes differ. So
    each has a mask that LLVM does not know to be the same.
    """
    code = body.code
    if not body.mask or not body.kernel.machine.all_sizes:
        return _active(body, lanes, otherwise)
    bits, everyone = code.bits, body.mask
    own = code.value(f'call {bits} asm "# {code.fresh()}", "=r,0"({bits} {code.number(everyone)})')
    body.mask = code.value(f"bitcast {bits} {own} to {code.mask}")
    found = _active(body, lanes, otherwise)
    body.mask = everyone
    return found


def _permute(body: Body, vector: str, source: Lanes, type_: Type) -> str:
    """By places that are known when it runs: through memory."""
    code, kind = body.code, stored(type_)
    lanes, numbers = code.lanes(kind), code.lanes(source.type)
    from_ = body.vector(source)
    inside = code.value(f"icmp ult {numbers} {from_}, splat ({source.type} {body.width})")
    inside = code.among(body.mask, inside)
    with code.scratch():
        row = code.row(lanes, ROW_ALIGNMENT)
        lies = lying(code, type_, vector)
        code.line(f"store {lanes} {lies}, ptr {row}, align {ROW_ALIGNMENT}")
        # Lanes that are not active may have anything.
        some = code.value(f"freeze {numbers} {from_}") if body.mask else from_
        within = code.value(f"and {numbers} {some}, splat ({source.type} {body.width - 1})")
        near = Near(row, within, "zext", body.layout.size(kind))
        everyone, body.mask = body.mask, ""
        (found,) = scattered(body, [Lanes(POINTER, near=near)], Access((kind,), (0,)))
        body.mask = everyone
    if type_ == BOOL:
        found = code.value(f"trunc {lanes} {found} to {code.mask}")
    whole = code.lanes(type_)
    return code.value(f"select {code.mask} {inside}, {whole} {found}, {whole} zeroinitializer")
