"""Marker functions: calls in a kernel that the vectoriser replaces (mb/cpu/vector_markers.h)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metalbench.chips import SIMD_WIDTH
from metalbench.msl.analysis.uniformity import (
    UNIFORM,
    VARYING,
    Affine,
    Constant,
    TransferFunction,
    Uniformity,
)
from metalbench.msl.ir.model import CallInstruction
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, POINTER, Float, Type
from metalbench.msl.vectorize.addresses import MemoryAccess
from metalbench.msl.vectorize.body import Emitter, emit_mask_bits
from metalbench.msl.vectorize.gather_scatter import access_scattered
from metalbench.msl.vectorize.ir_builder import IrBuilder, combine_vectors, format_shuffle_mask
from metalbench.msl.vectorize.lane_values import IndexedAddresses, LaneValue, splat
from metalbench.msl.vectorize.serialize import ROW_ALIGNMENT, convert_to_storage, get_storage_type

PREFIX = "mb_vector_"
BARRIER_FUNCTION = "mb_vector_meet"
_TYPES = ("b1", "u8", "u16", "u32", "u64", "f16", "bf16", "f32")
_POSITIONS = ("lane", "index", "x", "y", "z", "simdgroup", "arena")
REDUCTIONS = ("sum", "product", "min", "max", "and", "or", "xor")
_SCANS = ("inclusive_sum", "exclusive_sum", "inclusive_product", "exclusive_product")
_SIMD_FUNCTIONS = (*REDUCTIONS, *_SCANS, "shuffle", "first")


class SimdFunction(NamedTuple):
    """A SIMD-group function, and its element type."""

    function: str
    type: str


def parse_simd_function(name: str) -> SimdFunction | None:
    """Return the SIMD-group function of a marker's name; None for other names."""
    function, _, type_ = name.removeprefix(PREFIX).rpartition("_")
    if not name.startswith(PREFIX) or function not in _SIMD_FUNCTIONS or type_ not in _TYPES:
        return None
    return SimdFunction(function, type_)


def is_position(name: str) -> bool:
    """Return whether a marker returns a position of a lane, which does not need other lanes."""
    return name.removeprefix(PREFIX) in _POSITIONS


def make_transfer_functions(
    width: int, *, rows: bool, names: Iterable[str], serialized: Iterable[str]
) -> Mapping[str, TransferFunction]:
    """Return how the uniformity of each called function's result follows from its operands.

    The results of `serialized` functions vary, because each lane calls them separately.
    """
    positions: dict[str, Uniformity] = {
        "lane": Constant(tuple(range(width))),
        "index": Affine(1),
        "x": Affine(1) if rows else VARYING,
        "y": UNIFORM if rows else VARYING,
        "z": UNIFORM if rows else VARYING,
        "simdgroup": UNIFORM,
        "arena": UNIFORM,
        "ballot": UNIFORM,
    }
    found: dict[str, TransferFunction] = {
        f"{PREFIX}{name}": _make_constant_transfer(uniformity)
        for name, uniformity in positions.items()
    }
    for name in names:
        group = parse_simd_function(name)
        if group is not None:
            found[name] = _make_simd_transfer(group.function)
    for name in serialized:
        found[name] = _make_constant_transfer(VARYING)
    return found


def _make_constant_transfer(uniformity: Uniformity) -> TransferFunction:
    return lambda call, operands: uniformity


def _make_simd_transfer(function: str) -> TransferFunction:
    if function in (*REDUCTIONS, "first"):
        return _make_constant_transfer(UNIFORM)
    return _transfer_shuffle if function == "shuffle" else _make_constant_transfer(VARYING)


def _transfer_shuffle(call: CallInstruction, operands: Sequence[Uniformity]) -> Uniformity:
    """Return UNIFORM if all lanes read one source lane."""
    return UNIFORM if operands[1] is UNIFORM else VARYING


# SIMD-group functions as operations on the vector of all lanes.

_COMBINE = {
    "sum": "add",
    "product": "mul",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "min": "llvm.umin",
    "max": "llvm.umax",
}
_COMBINE_FLOATS = {"sum": "fadd", "product": "fmul", "min": "llvm.minnum", "max": "llvm.maxnum"}
_INFINITY = {"half": "0xH7C00", "bfloat": "0xR7F80", "float": "0x7FF0000000000000"}
_MINUS_INFINITY = {"half": "0xHFC00", "bfloat": "0xRFF80", "float": "0xFFF0000000000000"}
_ONE = {"half": "0xH3C00", "bfloat": "0xR3F80", "float": "1.0"}


def emit_marker(emitter: Emitter, call: CallInstruction) -> LaneValue | None:
    """Emit the function that a marker stands for; return None without a result. Raise IrError."""
    name = call.name.removeprefix(PREFIX)
    if name == "barrier":
        emitter.ir.call(BARRIER_FUNCTION, "void", [])
        return None
    if is_position(call.name):
        return emitter.emit_position(name, call.type)
    if emitter.width != SIMD_WIDTH:
        raise IrError(f"{call.name}: a SIMD-group has {SIMD_WIDTH} lanes")
    operands = [emitter.get(each) for each in call.operands]
    if name == "ballot":
        votes = emitter.ir.mask_and(emitter.mask, emitter.get_vector(operands[0]))
        return LaneValue(call.type, emitter.ir.mask_to_bits(votes))
    group = parse_simd_function(call.name)
    if group is None:
        raise IrError(f"unknown marker {call.name}")
    return _emit_simd_function(emitter, call, group.function, operands)


def _emit_simd_function(
    emitter: Emitter, call: CallInstruction, function: str, operands: Sequence[LaneValue]
) -> LaneValue:
    if function == "first":
        return LaneValue(call.type, _emit_first(emitter, operands[0]))
    if function == "shuffle":
        uniformity = emitter.get_uniformity(call.operands[1])
        known = uniformity.values if isinstance(uniformity, Constant) else None
        return _emit_shuffle(emitter, operands[0], operands[1], known)
    if function in REDUCTIONS:
        return LaneValue(call.type, _emit_reduction(emitter, function, operands[0]))
    order, _, joined_by = function.partition("_")
    vector = _emit_scan(emitter, joined_by, operands[0], inclusive=order == "inclusive")
    return LaneValue(call.type, vectors=(vector,))


def _emit_first(emitter: Emitter, lanes: LaneValue) -> str:
    if lanes.is_uniform:
        return lanes.scalar
    ir, at = emitter.ir, "0"
    if emitter.mask:
        at = ir.first_lane(emit_mask_bits(emitter))
    vector = emitter.get_vector(lanes)
    return ir.emit(f"extractelement {ir.vector_type(lanes.type)} {vector}, {ir.bits_type} {at}")


def get_identity(function: str, type_: Type) -> str:
    """Return the identity element of a reduction."""
    if isinstance(type_, Float):
        if function in ("sum", "product"):
            return "zeroinitializer" if function == "sum" else _ONE[type_.name]
        return (_INFINITY if function == "min" else _MINUS_INFINITY)[type_.name]
    if function in ("and", "min"):
        return "true" if type_ == BOOL else "-1"
    return "1" if function == "product" else "zeroinitializer"


def _combine(
    emitter: Emitter, function: str, type_: Type, one: str, other: str, *, count: int
) -> str:
    name = (_COMBINE_FLOATS if isinstance(type_, Float) else _COMBINE)[function]
    if isinstance(type_, Float) and type_.name != "float" and name.startswith("llvm."):
        relation = "olt" if function == "min" else "ogt"
        return _emit_minmax(emitter.ir, relation, (f"<{count} x", type_), one, other)
    return combine_vectors(emitter.ir, name, type_, one, other, count=count)


def _emit_minmax(ir: IrBuilder, relation: str, kind: tuple[str, Type], one: str, other: str) -> str:
    """Return the minimum or maximum of halves, for which LLVM would call a function; ignore NaN."""
    many, type_ = kind
    lanes, truth = f"{many} {type_}>", f"{many} i1>"
    better = ir.emit(f"fcmp {relation} {lanes} {other}, {one}")
    none = ir.emit(f"fcmp uno {lanes} {one}, {one}")
    either = ir.emit(f"or {truth} {better}, {none}")
    return ir.emit(f"select {truth} {either}, {lanes} {other}, {lanes} {one}")


def _select_active(emitter: Emitter, lanes: LaneValue, otherwise: str) -> str:
    """Return the values of active lanes, and another value in inactive ones."""
    ir, vector, kind = emitter.ir, emitter.get_vector(lanes), emitter.ir.vector_type(lanes.type)
    if not emitter.mask:
        return vector
    other = splat(ir, lanes.type, otherwise)
    return ir.emit(f"select {ir.mask_type} {emitter.mask}, {kind} {vector}, {kind} {other}")


def _emit_reduction(emitter: Emitter, function: str, lanes: LaneValue) -> str:
    """Emit a reduction by halves, in the order that fibers use: the upper half joins the lower."""
    ir, type_ = emitter.ir, lanes.type
    found, count = _select_active(emitter, lanes, get_identity(function, type_)), emitter.width
    while count > 1:
        half, vector = count // 2, f"<{count} x {type_}>"
        low, high = (
            ir.emit(
                f"shufflevector {vector} {found}, {vector} poison, "
                f"{format_shuffle_mask(range(first, first + half))}"
            )
            for first in (0, half)
        )
        found = _combine(emitter, function, type_, low, high, count=half)
        count = half
    return ir.emit(f"extractelement <1 x {type_}> {found}, i64 0")


def _emit_scan(emitter: Emitter, function: str, lanes: LaneValue, *, inclusive: bool) -> str:
    """Emit a scan in log2(width) steps (Hillis and Steele, 1986)."""
    ir, type_, width = emitter.ir, lanes.type, emitter.width
    neutral = get_identity(function, type_)
    kind, rest = ir.vector_type(type_), splat(ir, type_, neutral)

    def from_below(vector: str, distance: int) -> str:
        order = [lane - distance if lane >= distance else width for lane in range(width)]
        return ir.emit(
            f"shufflevector {kind} {vector}, {kind} {rest}, {format_shuffle_mask(order)}"
        )

    found = _select_active_opaque(emitter, lanes, neutral)
    if not inclusive:
        found = from_below(found, 1)
    distance = 1
    while distance < width:
        found = _combine(emitter, function, type_, from_below(found, distance), found, count=width)
        distance *= 2
    return found


def _emit_shuffle(
    emitter: Emitter, lanes: LaneValue, source: LaneValue, known: Sequence[int] | None
) -> LaneValue:
    """Emit a shuffle: zero for a source lane that is inactive or out of range."""
    ir, type_ = emitter.ir, lanes.type
    kind = ir.vector_type(type_)
    if known is None and source.is_uniform and source.scalar.isdigit():
        known = (int(source.scalar),) * emitter.width
    if known is not None and source.is_uniform:
        if not 0 <= known[0] < emitter.width:
            return LaneValue(type_, "zeroinitializer")
        vector = _select_active_opaque(emitter, lanes, "zeroinitializer")
        return LaneValue(type_, ir.emit(f"extractelement {kind} {vector}, i64 {known[0]}"))
    vector = _select_active_opaque(emitter, lanes, "zeroinitializer")
    if known is not None:
        order = [each if each < emitter.width else emitter.width for each in known]
        found = ir.emit(
            f"shufflevector {kind} {vector}, {kind} zeroinitializer, {format_shuffle_mask(order)}"
        )
        return LaneValue(type_, vectors=(found,))
    if source.is_uniform:
        inside = ir.emit(f"icmp ult {source.type} {source.scalar}, {emitter.width}")
        at = ir.emit(f"and {source.type} {source.scalar}, {emitter.width - 1}")
        one = ir.emit(f"extractelement {kind} {vector}, {source.type} {at}")
        none = "false" if type_ == BOOL else "zeroinitializer"
        return LaneValue(type_, ir.emit(f"select i1 {inside}, {type_} {one}, {type_} {none}"))
    return LaneValue(type_, vectors=(_emit_permutation(emitter, vector, source, type_),))


def _select_active_opaque(emitter: Emitter, lanes: LaneValue, otherwise: str) -> str:
    """Return the values of active lanes, with a mask that LLVM cannot recognise.

    On targets with mask registers, LLVM 22 drops a select of constants by a mask if another select
    after a shuffle uses the same mask: in `select(m, shuffle(select(m, numbers, 0)), 0)` it drops
    the inner one, although the lanes differ. An empty `asm` hides that the masks are equal.
    """
    ir = emitter.ir
    if not emitter.mask or not emitter.kernel.target.masks_all_sizes:
        return _select_active(emitter, lanes, otherwise)
    bits, saved_mask = ir.bits_type, emitter.mask
    own = ir.emit(
        f'call {bits} asm "# {ir.make_name()}", "=r,0"({bits} {ir.mask_to_bits(saved_mask)})'
    )
    emitter.mask = ir.emit(f"bitcast {bits} {own} to {ir.mask_type}")
    found = _select_active(emitter, lanes, otherwise)
    emitter.mask = saved_mask
    return found


def _emit_permutation(emitter: Emitter, vector: str, source: LaneValue, type_: Type) -> str:
    """Emit a permutation by indices that are not constant, through memory."""
    ir, kind = emitter.ir, get_storage_type(type_)
    lanes, numbers = ir.vector_type(kind), ir.vector_type(source.type)
    from_ = emitter.get_vector(source)
    inside = ir.emit(f"icmp ult {numbers} {from_}, splat ({source.type} {emitter.width})")
    inside = ir.mask_and(emitter.mask, inside)
    with ir.scratch_scope():
        row = ir.take_row(lanes, ROW_ALIGNMENT)
        lies = convert_to_storage(ir, type_, vector)
        ir.emit_void(f"store {lanes} {lies}, ptr {row}, align {ROW_ALIGNMENT}")
        # Inactive lanes may have poison.
        some = ir.emit(f"freeze {numbers} {from_}") if emitter.mask else from_
        within = ir.emit(f"and {numbers} {some}, splat ({source.type} {emitter.width - 1})")
        indexed = IndexedAddresses(row, within, "zext", emitter.layout.size(kind))
        saved_mask, emitter.mask = emitter.mask, ""
        (found,) = access_scattered(
            emitter, [LaneValue(POINTER, indexed=indexed)], MemoryAccess((kind,), (0,))
        )
        emitter.mask = saved_mask
    if type_ == BOOL:
        found = ir.emit(f"trunc {lanes} {found} to {ir.mask_type}")
    whole = ir.vector_type(type_)
    return ir.emit(f"select {ir.mask_type} {inside}, {whole} {found}, {whole} zeroinitializer")
