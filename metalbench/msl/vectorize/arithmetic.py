"""Text of computing instructions, on scalars or vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from metalbench.msl.analysis.uniformity import UNIFORM, Affine
from metalbench.msl.ir.model import Compare, Instruction, Part, Shuffle, Value
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, Float, Int, Struct, Type
from metalbench.msl.vectorize.body import Emitter
from metalbench.msl.vectorize.ir_builder import format_integer
from metalbench.msl.vectorize.lane_values import LaneValue, splat
from metalbench.msl.vectorize.serialize import extract_lane, is_lane_computable

BINARY = frozenset(
    {
        *("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr"),
        *("and", "or", "xor", "fadd", "fsub", "fmul", "fdiv", "frem"),
    }
)
CASTS = frozenset(
    {
        *("zext", "sext", "trunc", "bitcast", "fptoui", "fptosi", "uitofp", "sitofp"),
        *("fpext", "fptrunc", "ptrtoint", "inttoptr", "addrspacecast"),
    }
)
# Poison-generating flags of integers. They hold for active lanes, and lane 0 may be inactive.
_POISON_FLAGS = frozenset({"nuw", "nsw", "nneg", "disjoint", "exact", "samesign"})


def format_computation(
    instruction: Instruction, of: str, values: Sequence[str], to: Type | str, *, drop: bool = False
) -> str:
    """Return a unary, binary, comparing or casting instruction on operands of one type."""
    opcode, flags = instruction.opcode, format_flags(instruction, drop=drop)
    if opcode in CASTS:
        return f"{opcode} {flags}{of} {values[0]} to {to}"
    if isinstance(instruction, Compare):
        return f"{opcode} {flags}{instruction.predicate} {of} {values[0]}, {values[1]}"
    if opcode in BINARY:
        return f"{opcode} {flags}{of} {values[0]}, {values[1]}"
    if opcode in ("fneg", "freeze"):
        return f"{opcode} {flags}{of} {values[0]}"
    raise IrError(f"cannot vectorize the instruction {opcode}")


def format_flags(instruction: Instruction, *, drop: bool = False) -> str:
    """Return an instruction's flags, each with a space after it; `drop` poison-generating ones."""
    kept = (each for each in instruction.flags if not drop or each not in _POISON_FLAGS)
    return "".join(f"{each} " for each in kept)


# Shift amounts: modulo the width in Metal, poison from the width on in LLVM.

SHIFTS = ("shl", "lshr", "ashr")


def mask_shift_amount(
    emitter: Emitter, instruction: Instruction, type_: str, values: Sequence[str]
) -> str:
    """Return the amounts modulo the width; constants are in range already."""
    if instruction.operands[1].integer is not None:
        return values[1]
    (kind, *_) = emitter.list_components(instruction.type)
    assert isinstance(kind, Int)
    most = f"splat ({kind} {kind.bits - 1})" if type_.startswith("<") else str(kind.bits - 1)
    return emitter.ir.emit(f"and {type_} {values[1]}, {most}")


# Divisors that do not trap.

DIVISIONS = ("udiv", "sdiv", "urem", "srem")


def mask_divisors(
    emitter: Emitter, instruction: Instruction, lanes: str, values: Sequence[str], kind: Type
) -> str:
    """Return the divisors of all lanes, 1 for inactive lanes."""
    if instruction.operands[1].integer is not None:
        return values[1]
    divisor = values[1]
    if emitter.mask:
        one = splat(emitter.ir, kind, "1")
        divisor = emitter.ir.emit(
            f"select {emitter.ir.mask_type} {emitter.mask}, {lanes} {divisor}, {lanes} {one}"
        )
    return emit_safe_divisor(emitter, instruction, lanes, [values[0], divisor])


def emit_safe_divisor(
    emitter: Emitter, instruction: Instruction, type_: str, values: Sequence[str]
) -> str:
    """Return divisors with 1 where the quotient overflows: the least number divided by -1."""
    if instruction.opcode not in ("sdiv", "srem"):
        return values[1]
    ir = emitter.ir
    (kind, *_) = emitter.list_components(instruction.type)
    wide = type_.startswith("<") and isinstance(kind, Int)
    assert isinstance(kind, Int)

    def constant(number: int) -> str:
        return f"splat ({kind} {number})" if wide else str(number)

    truth = f"{type_.rpartition(' x ')[0]} x i1>" if wide else "i1"
    is_least = ir.emit(f"icmp eq {type_} {values[0]}, {constant(-(1 << kind.bits - 1))}")
    is_minus = ir.emit(f"icmp eq {type_} {values[1]}, {constant(-1)}")
    both = ir.emit(f"and {truth} {is_least}, {is_minus}")
    return ir.emit(f"select {truth} {both}, {type_} {constant(1)}, {type_} {values[1]}")


# Elements of vectors and structs, and selects: mostly renaming of existing vectors.


def emit_select(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit a `select` by one condition for all, for each lane, or for each component."""
    condition, yes, no = operands
    flags = format_flags(instruction)
    one = condition.is_uniform and condition.type == BOOL
    conditions = [condition.scalar] if one else emitter.get_vectors(condition)
    truth = "i1" if one else emitter.ir.mask_type
    found = []
    for at, kind in enumerate(emitter.list_components(instruction.type)):
        lanes = emitter.ir.vector_type(kind)
        which = conditions[at] if len(conditions) > 1 else conditions[0]
        values = f"{lanes} {emitter.get_vectors(yes)[at]}, {lanes} {emitter.get_vectors(no)[at]}"
        found.append(emitter.ir.emit(f"select {flags}{truth} {which}, {values}"))
    return tuple(found)


def emit_extractelement(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit an `extractelement`; a variable index is compared with every position."""
    vectors, index = emitter.get_vectors(operands[0]), instruction.operands[1].integer
    if index is not None:
        return (vectors[index],)
    chosen = vectors[0]
    lanes = emitter.ir.vector_type(instruction.type)
    for at in range(1, len(vectors)):
        here = _emit_index_test(emitter, operands[1], at)
        chosen = emitter.ir.emit(f"select {here}, {lanes} {vectors[at]}, {lanes} {chosen}")
    return (chosen,)


def emit_insertelement(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit an `insertelement`."""
    vectors, new = list(emitter.get_vectors(operands[0])), emitter.get_vector(operands[1])
    index = instruction.operands[2].integer
    if index is not None:
        vectors[index] = new
        return tuple(vectors)
    lanes = emitter.ir.vector_type(operands[1].type)
    return tuple(
        emitter.ir.emit(
            f"select {_emit_index_test(emitter, operands[2], at)}, {lanes} {new}, {lanes} {old}"
        )
        for at, old in enumerate(vectors)
    )


def _emit_index_test(emitter: Emitter, index: LaneValue, at: int) -> str:
    """Return the typed condition that an index equals a position."""
    if index.is_uniform:
        return f"i1 {emitter.ir.emit(f'icmp eq {index.type} {index.scalar}, {at}')}"
    lanes = emitter.ir.vector_type(index.type)
    number = splat(emitter.ir, index.type, str(at))
    is_equal = emitter.ir.emit(f"icmp eq {lanes} {emitter.get_vector(index)}, {number}")
    return f"{emitter.ir.mask_type} {is_equal}"


def emit_shufflevector(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit a `shufflevector`."""
    assert isinstance(instruction, Shuffle)
    vectors = [vector for each in operands for vector in emitter.get_vectors(each)]
    return tuple("poison" if at < 0 else vectors[at] for at in instruction.mask)


def emit_extractvalue(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit an `extractvalue`."""
    assert isinstance(instruction, Part)
    begin, end = _find_component_range(emitter, operands[0].type, instruction.indices)
    return emitter.get_vectors(operands[0])[begin:end]


def emit_insertvalue(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit an `insertvalue`."""
    assert isinstance(instruction, Part)
    begin, end = _find_component_range(emitter, operands[0].type, instruction.indices)
    whole = list(emitter.get_vectors(operands[0]))
    whole[begin:end] = emitter.get_vectors(operands[1])
    return tuple(whole)


def _find_component_range(emitter: Emitter, type_: Type, indices: Sequence[int]) -> tuple[int, int]:
    """Return begin and end of a member's components among those of the aggregate."""
    first = 0
    for index in indices:
        resolved = emitter.layout.resolve(type_)
        before = range(index)
        if isinstance(resolved, Struct):
            first += sum(len(emitter.list_components(resolved.members[each])) for each in before)
        else:
            first += index * len(emitter.list_components(emitter.layout.member(resolved, 0)[1]))
        type_ = emitter.layout.member(resolved, index)[1]
    return first, first + len(emitter.list_components(type_))


# Bitcasts between elements of different sizes.


def emit_bitcast(
    emitter: Emitter, of: Type, to: Sequence[Type], vectors: Sequence[str]
) -> tuple[str, ...]:
    """Return the same bits as other elements: several joined into a wider one, or one split."""
    ir, source, target = emitter.ir, _get_bits(emitter, of), _get_bits(emitter, to[0])
    wide, narrow = ir.vector_type(f"i{target}"), ir.vector_type(f"i{source}")
    numbers = [_cast_to_integers(emitter, each, of, f"i{source}") for each in vectors]
    found = []
    for at in range(len(to)):
        if target > source:
            many = target // source
            parts = numbers[at * many : (at + 1) * many]
            whole = "zeroinitializer"
            for k, part in enumerate(parts):
                wider = ir.emit(f"zext {narrow} {part} to {wide}")
                moved = ir.emit(f"shl {wide} {wider}, splat (i{target} {k * source})")
                whole = ir.emit(f"or {wide} {whole}, {moved}")
        else:
            many = source // target
            shift = at % many * target
            moved = ir.emit(f"lshr {narrow} {numbers[at // many]}, splat (i{source} {shift})")
            whole = ir.emit(f"trunc {narrow} {moved} to {wide}")
        lanes = ir.vector_type(to[at])
        found.append(
            whole if isinstance(to[at], Int) else ir.emit(f"bitcast {wide} {whole} to {lanes}")
        )
    return tuple(found)


def _cast_to_integers(emitter: Emitter, vector: str, of: Type, number: str) -> str:
    if isinstance(of, Int):
        return vector
    return emitter.ir.emit(
        f"bitcast {emitter.ir.vector_type(of)} {vector} to {emitter.ir.vector_type(number)}"
    )


def _get_bits(emitter: Emitter, type_: Type) -> int:
    if isinstance(type_, Int | Float) and type_ != BOOL:
        return type_.bits
    raise IrError(f"cannot bitcast elements of type {type_} to another size")


# Instructions on vectors of all lanes, one for each component.

_ELEMENT_WRITERS: dict[
    str, Callable[[Emitter, Instruction, Sequence[LaneValue]], tuple[str, ...]]
] = {
    "select": emit_select,
    "extractelement": emit_extractelement,
    "insertelement": emit_insertelement,
    "shufflevector": emit_shufflevector,
    "extractvalue": emit_extractvalue,
    "insertvalue": emit_insertvalue,
}


def emit_vectors(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit an instruction for each component of its result, in all lanes. Raise IrError."""
    if instruction.opcode in _ELEMENT_WRITERS:
        return _ELEMENT_WRITERS[instruction.opcode](emitter, instruction, operands)
    given = [emitter.get_vectors(each) for each in operands]
    of = emitter.list_components(operands[0].type)
    to = emitter.list_components(instruction.type)
    if instruction.opcode == "bitcast" and len(of) != len(to):
        return emit_bitcast(emitter, of[0], to, given[0])
    found = []
    for at, kind in enumerate(of):
        lanes, values = emitter.ir.vector_type(kind), [each[at] for each in given]
        if instruction.opcode in DIVISIONS:
            values[1] = mask_divisors(emitter, instruction, lanes, values, kind)
        if instruction.opcode in SHIFTS:
            values[1] = mask_shift_amount(emitter, instruction, lanes, values)
        to_lanes = emitter.ir.vector_type(to[at])
        found.append(emitter.ir.emit(format_computation(instruction, lanes, values, to_lanes)))
    return tuple(found)


# Affine values: computed once for lane 0, with run-time checks where they may wrap.


def emit_affine(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue], uniformity: Affine
) -> LaneValue:
    """Emit an instruction on lane 0's operands. The other lanes follow by the stride."""
    ir, scalars, opcode = emitter.ir, [each.scalar for each in operands], instruction.opcode
    if opcode == "select":
        condition, yes, no = scalars
        kind = instruction.type
        found = ir.emit(f"select i1 {condition}, {kind} {yes}, {kind} {no}")
    elif opcode == "or":  # of disjoint bits, in every lane but perhaps not in lane 0
        found = ir.emit(f"add {instruction.type} {scalars[0]}, {scalars[1]}")
    elif opcode == "zext" and "nneg" in instruction.flags and operands[0].stride > 0:
        # Lane 0's value may be negative where its result is not used: `i < d ? none : x[i - d]`.
        # By its sign, the other lanes have the right values.
        found = ir.emit(f"sext {operands[0].type} {scalars[0]} to {instruction.type}")
    else:
        of = str(operands[0].type)
        found = ir.emit(format_computation(instruction, of, scalars, instruction.type, drop=True))
    result = LaneValue(instruction.type, found, uniformity.stride)
    if uniformity.checked:
        result.condition = _emit_no_wrap(emitter, instruction, operands, uniformity.stride)
        result.make_vectors = partial(emit_vectors, emitter, instruction, operands)
        if opcode != "select" and all(is_lane_computable(each) for each in operands):
            result.make_lane = partial(_emit_for_lane, emitter, instruction, operands)
    return result


def _emit_for_lane(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue], lane: str
) -> str:
    """Emit an instruction for one lane, from operands that can be computed for it."""
    given = [extract_lane(emitter, each, [], lane) for each in operands]
    of = str(operands[0].type)
    return emitter.ir.emit(format_computation(instruction, of, given, instruction.type, drop=True))


def _emit_no_wrap(
    emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue], stride: int
) -> str:
    """Return the condition that no lane's value has wrapped."""
    ir = emitter.ir
    given = [each.condition for each in operands if each.condition]
    if instruction.opcode in ("zext", "sext") and not given:
        return _emit_no_wrap_of_extension(emitter, instruction, operands[0], stride)
    if not given:
        return "true"
    found = given[0]
    for each in given[1:]:
        found = ir.emit(f"and i1 {found}, {each}")
    return found


def _emit_no_wrap_of_extension(
    emitter: Emitter, widening: Instruction, operand: LaneValue, stride: int
) -> str:
    """Return the condition that the values of lane 0 and the last lane do not wrap in between."""
    type_ = operand.type
    assert isinstance(type_, Int)
    last = stride * (emitter.width - 1)
    signed = widening.opcode == "sext"
    least, most = (
        (-(1 << type_.bits - 1), (1 << type_.bits - 1) - 1)
        if signed
        else (
            0,
            (1 << type_.bits) - 1,
        )
    )
    if abs(last) > most:
        return "false"
    limit = most - last if stride > 0 else least - last
    relation = ("s" if signed else "u") + ("le" if stride > 0 else "ge")
    return emitter.ir.emit(
        f"icmp {relation} {type_} {operand.scalar}, {format_integer(type_, limit)}"
    )


def emit_end_comparisons(
    emitter: Emitter, compare: Compare, operands: Sequence[LaneValue]
) -> tuple[str, str, str] | None:
    """Return a comparison in the first and last lane, and whether it changes at most once between.

    Return None unless all lanes are active and the operands are affine and do not wrap.
    """
    relation, kind = compare.predicate, operands[0].type
    follow = all(each.is_affine for each in operands)
    if emitter.mask or not emitter.launch.rows or relation[0] not in "us" or not follow:
        return None
    if compare.opcode != "icmp" or not isinstance(kind, Int):
        return None
    ir, lasts = emitter.ir, []
    conditions = [each.condition for each in operands if each.condition]
    for each in operands:
        last = each.scalar
        if each.stride:
            distance = format_integer(kind, each.stride * (emitter.width - 1))
            last = ir.emit(f"add {kind} {each.scalar}, {distance}")
            grows = "ge" if each.stride > 0 else "le"
            if abs(each.stride) * emitter.width >= 1 << (kind.bits - 1):
                return None
            conditions.append(ir.emit(f"icmp {relation[0]}{grows} {kind} {last}, {each.scalar}"))
        lasts.append(last)
    if not conditions:
        return None
    whole = conditions[0]
    for more in conditions[1:]:
        whole = ir.emit(f"and i1 {whole}, {more}")
    first, last = (
        ir.emit(f"icmp {relation} {kind} {one}, {other}")
        for one, other in ([each.scalar for each in operands], lasts)
    )
    return first, last, whole


# Computations: one scalar instruction for uniform or affine results, otherwise vectors.


def emit_computation(emitter: Emitter, instruction: Instruction) -> LaneValue:
    """Emit an instruction that does not access memory, and return its result. Raise IrError."""
    uniformity = emitter.analysis.uniformity.get(Value(instruction.type, instruction.result))
    operands = [emitter.get(each) for each in instruction.operands]
    if all(each.is_uniform for each in operands):
        return LaneValue(instruction.type, _emit_uniform(emitter, instruction, operands))
    if uniformity is UNIFORM:  # the operands' strides add up to 0
        return emit_affine(emitter, instruction, operands, Affine(0))
    if isinstance(uniformity, Affine):
        return emit_affine(emitter, instruction, operands, uniformity)
    known = (
        emit_end_comparisons(emitter, instruction, operands)
        if isinstance(instruction, Compare)
        else None
    )
    if known is not None:
        return LaneValue(
            instruction.type,
            ends=known,
            make_vectors=partial(emit_vectors, emitter, instruction, operands),
        )
    return LaneValue(instruction.type, vectors=emit_vectors(emitter, instruction, operands))


def _emit_uniform(emitter: Emitter, instruction: Instruction, operands: Sequence[LaneValue]) -> str:
    """Emit an instruction on uniform operands once, and return the scalar."""
    scalars = [each.scalar for each in operands]
    opcode = instruction.opcode
    if opcode in DIVISIONS and instruction.operands[1].integer is None:
        scalars[1] = emit_safe_divisor(emitter, instruction, str(instruction.type), scalars)
    if opcode in SHIFTS:
        scalars[1] = mask_shift_amount(emitter, instruction, str(instruction.type), scalars)
    typed = [f"{each.type} {scalar}" for each, scalar in zip(operands, scalars, strict=True)]
    if isinstance(instruction, Shuffle):
        mask = ", ".join("i32 poison" if at < 0 else f"i32 {at}" for at in instruction.mask)
        return emitter.ir.emit(
            f"shufflevector {', '.join(typed)}, <{len(instruction.mask)} x i32> <{mask}>"
        )
    if isinstance(instruction, Part):
        places = "".join(f", {each}" for each in instruction.indices)
        return emitter.ir.emit(f"{opcode} {', '.join(typed)}{places}")
    if opcode in ("select", "extractelement", "insertelement"):
        return emitter.ir.emit(f"{opcode} {format_flags(instruction)}{', '.join(typed)}")
    return emitter.ir.emit(
        format_computation(instruction, str(operands[0].type), scalars, instruction.type)
    )
