"""Serialization: instructions that run once per active lane, such as atomics and calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.ir.model import Atomic, CallInstruction, Instruction, Memory
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import VOID, Int, Type
from metalbench.msl.vectorize.body import Emitter, emit_mask_bits
from metalbench.msl.vectorize.ir_builder import IrBuilder
from metalbench.msl.vectorize.lane_values import (
    IndexedAddresses,
    LaneValue,
    build_aggregate,
    split_components,
)

# Atomic operations of one lane.

_ARITHMETIC = ("add", "sub", "and", "or", "xor", "fadd", "fsub")
# The comparison under which the old value stays.
_EXTREMES = {"max": "sgt", "min": "slt", "umax": "ugt", "umin": "ult"}


def emit_atomic(emitter: Emitter, atomic: Atomic, operands: Sequence[str]) -> str:
    """Emit an atomic operation on operands without types. Return its result; empty for a fence."""
    if atomic.opcode == "fence":
        emitter.ir.emit_void(_format_atomic(atomic, []))
        return ""
    if atomic.operands[0].text in emitter.kernel.threadgroup_addresses:
        found = _emit_non_atomic(emitter, atomic, operands)
        if found:
            return found
    typed = [f"{each.type} {text}" for each, text in zip(atomic.operands, operands, strict=True)]
    return emitter.ir.emit(_format_atomic(atomic, typed))


def _format_atomic(atomic: Atomic, operands: Sequence[str]) -> str:
    words = ("weak " if atomic.weak else "") + ("volatile " if atomic.volatile else "")
    scope = f' syncscope("{atomic.scope}")' if atomic.scope else ""
    orderings = " ".join(atomic.orderings)
    if atomic.opcode == "fence":
        return f"fence{scope} {orderings}"
    operation = f"{atomic.operation} " if atomic.operation else ""
    aligned = f", align {atomic.alignment}" if atomic.alignment else ""
    given = ", ".join(operands)
    return f"{atomic.opcode} {words}{operation}{given}{scope} {orderings}{aligned}"


def _emit_non_atomic(emitter: Emitter, atomic: Atomic, operands: Sequence[str]) -> str:
    """Emit a load and a store instead of an atomic operation; return "" if that is impossible.

    One processor thread runs a threadgroup, and changes to another SIMD-group at barriers only. No
    other access can intervene. Atomic instructions take several times as long.
    """
    ir, kind, address = emitter.ir, atomic.operands[1].type, operands[0]
    is_exchange = atomic.opcode == "cmpxchg"
    if not is_exchange and atomic.operation not in ("xchg", *_ARITHMETIC, *_EXTREMES):
        return ""
    volatile = "volatile " if atomic.volatile else ""
    aligned = f", align {atomic.alignment}" if atomic.alignment else ""
    old = ir.emit(f"load {volatile}{kind}, ptr {address}{aligned}")
    is_same = ""
    if is_exchange:
        is_same = ir.emit(f"icmp eq {kind} {old}, {operands[1]}")
        new = ir.emit(f"select i1 {is_same}, {kind} {operands[2]}, {kind} {old}")
    elif atomic.operation in _ARITHMETIC:
        new = ir.emit(f"{atomic.operation} {kind} {old}, {operands[1]}")
    elif atomic.operation in _EXTREMES:
        is_more = ir.emit(f"icmp {_EXTREMES[atomic.operation]} {kind} {old}, {operands[1]}")
        new = ir.emit(f"select i1 {is_more}, {kind} {old}, {kind} {operands[1]}")
    else:
        new = operands[1]
    ir.emit_void(f"store {volatile}{kind} {new}, ptr {address}{aligned}")
    if not is_exchange:
        return old
    pair = ir.emit(f"insertvalue {atomic.type} poison, {kind} {old}, 0")
    return ir.emit(f"insertvalue {atomic.type} {pair}, i1 {is_same}, 1")


_INDEX = Int(32)
ROW_ALIGNMENT = 16  # bytes, of a vector in memory
EmitLane = Callable[[Sequence[str]], Sequence[str]]


def emit_serialized(emitter: Emitter, instruction: Instruction) -> LaneValue:
    """Emit an instruction for each active lane. Results of inactive lanes are undefined."""
    operands = [emitter.get(each) for each in instruction.operands]
    if emitter.is_scalar:
        return LaneValue(
            instruction.type, emit_scalar(emitter, instruction, [each.scalar for each in operands])
        )
    wanted = instruction.type != VOID and instruction.result not in emitter.kernel.dead
    kinds = emitter.list_components(instruction.type) if wanted else []

    def run(given: Sequence[str]) -> Sequence[str]:
        found = emit_scalar(emitter, instruction, given)
        return (
            split_components(emitter.ir, instruction.type, found, emitter.layout) if kinds else []
        )

    return LaneValue(instruction.type, vectors=map_lanes(emitter, operands, kinds, run))


def map_lanes(
    emitter: Emitter, operands: Sequence[LaneValue], kinds: Sequence[Type], run: EmitLane
) -> tuple[str, ...]:
    """Emit a loop over the active lanes: `run` maps a lane's operands to results of types `kinds`.

    Vectors are stored in memory, because no processor extracts an element by a variable index from
    a register.
    """
    ir = emitter.ir
    with ir.scratch_scope():
        memory = [store_operand(emitter, each) for each in operands]
        results = [
            ir.take_row(ir.vector_type(get_storage_type(kind)), ROW_ALIGNMENT) for kind in kinds
        ]

        def emit_iteration(lane: str) -> None:
            given = [
                extract_lane(emitter, operand, slots, lane)
                for operand, slots in zip(operands, memory, strict=True)
            ]
            for kind, slot, part in zip(kinds, results, run(given), strict=True):
                store_element(emitter, kind, slot, lane, part)

        for_each_lane(ir, emit_mask_bits(emitter), emit_iteration)
        return tuple(
            load_vector(emitter, kind, slot) for kind, slot in zip(kinds, results, strict=True)
        )


def for_each_lane(ir: IrBuilder, lanes: str, run: Callable[[str], None]) -> None:
    """Emit a loop over the lanes of a mask as an integer; `run` emits the code of one lane."""
    start, emit_iteration, done = ir.make_name("lanes"), ir.make_name("lane"), ir.make_name("done")
    ir.branch(start)
    ir.start_block(start)
    ir.branch(emit_iteration)
    ir.start_block(emit_iteration)
    now, after = f"%{ir.make_name('left')}", f"%{ir.make_name('rest')}"
    back = ir.make_name("end")
    ir.emit_void(f"{now} = phi {ir.bits_type} [ {lanes}, %{start} ], [ {after}, %{back} ]")
    first = ir.first_lane(now)
    lane = ir.emit(f"zext {ir.bits_type} {first} to i64")
    run(lane)
    ir.branch(back)
    ir.start_block(back)
    fewer = ir.emit(f"sub {ir.bits_type} {now}, 1")
    ir.emit_void(f"{after} = and {ir.bits_type} {now}, {fewer}")
    ir.branch_if(ir.emit(f"icmp eq {ir.bits_type} {after}, 0"), done, emit_iteration)
    ir.start_block(done)


def get_storage_type(kind: Type) -> Type:
    """Return an element's type in memory: integers are extended to a power of two of bytes.

    LLVM packs the elements of a vector by bits, but those of an array by their alloc size.
    """
    if not isinstance(kind, Int):
        return kind
    size = 8
    while size < kind.bits:
        size *= 2
    return Int(size)


def convert_to_storage(ir: IrBuilder, kind: Type, vector: str) -> str:
    """Return a vector with elements of the storage type."""
    row = get_storage_type(kind)
    if row == kind:
        return vector
    return ir.emit(f"zext {ir.vector_type(kind)} {vector} to {ir.vector_type(row)}")


def is_lane_computable(operand: LaneValue) -> bool:
    """Return whether any lane's value can be computed from uniform values."""
    return operand.make_lane is not None or (operand.is_affine and not operand.condition)


def store_operand(emitter: Emitter, operand: LaneValue) -> list[str]:
    """Store an operand's vectors unless each lane's value can be computed. Return the slots."""
    if is_lane_computable(operand):
        return []
    ir = emitter.ir
    if operand.indexed is not None:
        return [_store_row(ir, ir.vector_type("i32"), operand.indexed.indices)]
    kinds, vectors = emitter.list_components(operand.type), emitter.get_vectors(operand)
    return [
        _store_row(ir, ir.vector_type(get_storage_type(kind)), convert_to_storage(ir, kind, vector))
        for kind, vector in zip(kinds, vectors, strict=True)
    ]


def _store_row(ir: IrBuilder, row: str, vector: str) -> str:
    slot = ir.take_row(row, ROW_ALIGNMENT)
    ir.emit_void(f"store {row} {vector}, ptr {slot}, align {ROW_ALIGNMENT}")
    return slot


def extract_lane(emitter: Emitter, operand: LaneValue, slots: Sequence[str], lane: str) -> str:
    """Return one lane's value of an operand, from the slots of `store_operand`."""
    if operand.is_uniform:
        return operand.scalar
    if operand.make_lane is not None:
        return operand.make_lane(lane)
    if not slots:
        return extract_affine_lane(emitter, operand, lane)
    if operand.indexed is not None:
        return load_indexed_address(emitter, operand.indexed, slots[0], lane)
    kinds = emitter.list_components(operand.type)
    parts = [load_element(emitter, *each, lane) for each in zip(kinds, slots, strict=True)]
    return build_aggregate(emitter.ir, operand.type, parts, emitter.layout)


def load_element(emitter: Emitter, kind: Type, slot: str, lane: str) -> str:
    """Return a lane's element of a stored vector."""
    ir = emitter.ir
    place = ir.emit(f"getelementptr {get_storage_type(kind)}, ptr {slot}, i64 {lane}")
    part = ir.emit(f"load {get_storage_type(kind)}, ptr {place}")
    return (
        part
        if get_storage_type(kind) == kind
        else ir.emit(f"trunc {get_storage_type(kind)} {part} to {kind}")
    )


def load_indexed_address(emitter: Emitter, indexed: IndexedAddresses, slot: str, lane: str) -> str:
    """Return a lane's address, from its stored index."""
    ir = emitter.ir
    index = load_element(emitter, _INDEX, slot, lane)
    wide = ir.emit(f"{indexed.widening} i32 {index} to i64")
    return ir.emit(f"getelementptr [{indexed.scale} x i8], ptr {indexed.base}, i64 {wide}")


def extract_affine_lane(emitter: Emitter, operand: LaneValue, lane: str) -> str:
    """Return a lane's value of an affine operand: lane 0's plus lane times stride."""
    ir, kind = emitter.ir, operand.type
    if not isinstance(kind, Int):
        steps = ir.emit(f"mul i64 {lane}, {operand.stride}")
        return ir.emit(f"getelementptr i8, {kind} {operand.scalar}, i64 {steps}")
    number = lane
    if kind.bits != 64:
        number = ir.emit(f"{'trunc' if kind.bits < 64 else 'zext'} i64 {lane} to {kind}")
    steps = ir.emit(f"mul {kind} {number}, {operand.stride % (1 << kind.bits)}")
    return ir.emit(f"add {kind} {operand.scalar}, {steps}")


def store_element(emitter: Emitter, kind: Type, slot: str, lane: str, part: str) -> None:
    """Store one lane's result in a stored vector."""
    ir = emitter.ir
    if get_storage_type(kind) != kind:
        part = ir.emit(f"zext {kind} {part} to {get_storage_type(kind)}")
    place = ir.emit(f"getelementptr {get_storage_type(kind)}, ptr {slot}, i64 {lane}")
    ir.emit_void(f"store {get_storage_type(kind)} {part}, ptr {place}")


def load_vector(emitter: Emitter, kind: Type, slot: str) -> str:
    """Return the results of all lanes."""
    ir, row = emitter.ir, emitter.ir.vector_type(get_storage_type(kind))
    found = ir.emit(f"load {row}, ptr {slot}, align {ROW_ALIGNMENT}")
    return (
        found
        if get_storage_type(kind) == kind
        else ir.emit(f"trunc {row} {found} to {ir.vector_type(kind)}")
    )


def emit_scalar(emitter: Emitter, instruction: Instruction, operands: Sequence[str]) -> str:
    """Emit an instruction on scalar operands. Return its result; empty without one."""
    if isinstance(instruction, Atomic):
        return emit_atomic(emitter, instruction, operands)
    typed = [
        f"{each.type} {text}" for each, text in zip(instruction.operands, operands, strict=True)
    ]
    if isinstance(instruction, Memory):
        text = format_memory_access(instruction, typed, instruction.alignment)
    elif isinstance(instruction, CallInstruction):
        text = _format_call(instruction, operands)
    else:
        raise IrError(f"cannot serialize the instruction {instruction.opcode}")
    if instruction.type == VOID:
        emitter.ir.emit_void(text)
        return ""
    return emitter.ir.emit(text)


def format_memory_access(instruction: Memory, operands: Sequence[str], alignment: int) -> str:
    """Return a load or store of operands with types."""
    atomic = "atomic " if instruction.ordering else ""
    volatile = "volatile " if instruction.volatile else ""
    what = f"{instruction.type}, " if instruction.opcode == "load" else ""
    ordering = f" {instruction.ordering}" if instruction.ordering else ""
    given = ", ".join(operands)
    return f"{instruction.opcode} {atomic}{volatile}{what}{given}{ordering}, align {alignment}"


def _format_call(call: CallInstruction, operands: Sequence[str]) -> str:
    given = ", ".join(
        f"{' '.join(filter(None, (str(each.type), attributes)))} {text}"
        for each, attributes, text in zip(call.operands, call.parameters, operands, strict=True)
    )
    flags = "".join(f"{each} " for each in call.flags)
    before = f"{call.before} " if call.before else ""
    after = f" {call.attributes}" if call.attributes else ""
    return f"call {flags}{before}{call.type} {call.callee}({given}){after}"


# Loops over groups of lanes that are all active.

LANES_AT_ONCE = 8  # lanes: a register of four-byte elements


def for_each_lane_group(
    emitter: Emitter,
    address: LaneValue,
    run: Callable[[str, Sequence[str]], None],
    *,
    at_once: int = LANES_AT_ONCE,
) -> None:
    """Emit a loop over groups of lanes: `run` gets the first lane and the group's addresses."""
    ir, some = emitter.ir, min(at_once, emitter.width)
    plain = address.is_affine and not address.condition
    with ir.scratch_scope():
        slots = [] if plain else store_operand(emitter, address)
        start, body, done = ir.make_name("groups"), ir.make_name("group"), ir.make_name("done")
        ir.branch(start)
        ir.start_block(start)
        ir.branch(body)
        ir.start_block(body)
        now, after = f"%{ir.make_name('now')}", f"%{ir.make_name('after')}"
        ir.emit_void(f"{now} = phi i64 [ 0, %{start} ], [ {after}, %{body} ]")
        if plain:
            offset = ir.emit(f"mul i64 {now}, {address.stride}")
            first = ir.emit(f"getelementptr i8, ptr {address.scalar}, i64 {offset}")
            places = [
                ir.emit(f"getelementptr i8, ptr {first}, i64 {address.stride * at}")
                for at in range(some)
            ]
        else:
            places = []
            for at in range(some):
                lane = ir.emit(f"add i64 {now}, {at}")
                places.append(extract_lane(emitter, address, slots, lane))
        run(now, places)
        ir.emit_void(f"{after} = add i64 {now}, {some}")
        ir.branch_if(ir.emit(f"icmp eq i64 {after}, {emitter.width}"), done, body)
        ir.start_block(done)
