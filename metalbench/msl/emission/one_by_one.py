"""What takes no vectors, run once for every active lane: atomics, calls, scattered accesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.emission.atomics import atomic_operation
from metalbench.msl.emission.body import Body, bits_of
from metalbench.msl.emission.code import Code
from metalbench.msl.emission.lanes import Lanes, Near, put_together, take_apart
from metalbench.msl.ir.model import Atomic, Call, Instruction, Memory
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import VOID, Int, Type

_INDEX = Int(32)
ROW_ALIGNMENT = 16  # bytes, of a row of lanes in memory
OneLane = Callable[[Sequence[str]], Sequence[str]]


def one_by_one(body: Body, instruction: Instruction) -> Lanes:
    """The results of all active lanes, if anybody asks; of the others, nothing is known."""
    operands = [body.get(each) for each in instruction.operands]
    if body.is_alone:
        return Lanes(
            instruction.type, execute(body, instruction, [each.scalar for each in operands])
        )
    wanted = instruction.type != VOID and instruction.result not in body.kernel.idle
    kinds = body.components(instruction.type) if wanted else []

    def run(given: Sequence[str]) -> Sequence[str]:
        found = execute(body, instruction, given)
        return take_apart(body.code, instruction.type, found, body.layout) if kinds else []

    return Lanes(instruction.type, vectors=each_lane(body, operands, kinds, run))


def each_lane(
    body: Body, operands: Sequence[Lanes], kinds: Sequence[Type], run: OneLane
) -> tuple[str, ...]:
    """A loop over the active lanes: `run` gets a lane's operands, and gives results of these kinds.

    Vectors lie in memory meanwhile: no processor takes an element by a number out of a register.
    """
    code = body.code
    with code.scratch():
        memory = [laid_out(body, each) for each in operands]
        results = [code.row(code.lanes(stored(kind)), ROW_ALIGNMENT) for kind in kinds]

        def turn(lane: str) -> None:
            given = [
                of_lane(body, operand, slots, lane)
                for operand, slots in zip(operands, memory, strict=True)
            ]
            for kind, slot, part in zip(kinds, results, run(given), strict=True):
                keep(body, kind, slot, lane, part)

        over_lanes(code, bits_of(body), turn)
        return tuple(kept(body, kind, slot) for kind, slot in zip(kinds, results, strict=True))


def over_lanes(code: Code, lanes: str, run: Callable[[str], None]) -> None:
    """A loop over the lanes of a mask, a number; `run` writes what is done for one, by its own."""
    start, turn, done = code.fresh("lanes"), code.fresh("lane"), code.fresh("done")
    code.jump(start)
    code.label(start)
    code.jump(turn)
    code.label(turn)
    now, after = f"%{code.fresh('left')}", f"%{code.fresh('rest')}"
    back = code.fresh("end")
    code.line(f"{now} = phi {code.bits} [ {lanes}, %{start} ], [ {after}, %{back} ]")
    first = code.first(now)
    lane = code.value(f"zext {code.bits} {first} to i64")
    run(lane)
    code.jump(back)
    code.label(back)
    fewer = code.value(f"sub {code.bits} {now}, 1")
    code.line(f"{after} = and {code.bits} {now}, {fewer}")
    code.fork(code.value(f"icmp eq {code.bits} {after}, 0"), done, turn)
    code.label(done)


def stored(kind: Type) -> Type:
    """How an element lies in memory: integers of other lengths in the next power of two of bytes.

    In memory LLVM packs a vector's elements bit by bit, but an array's are so far apart.
    """
    if not isinstance(kind, Int):
        return kind
    size = 8
    while size < kind.bits:
        size *= 2
    return Int(size)


def lying(code: Code, kind: Type, vector: str) -> str:
    """A vector as it lies in memory."""
    row = stored(kind)
    if row == kind:
        return vector
    return code.value(f"zext {code.lanes(kind)} {vector} to {code.lanes(row)}")


def follows(operand: Lanes) -> bool:
    """Whether any lane's value is computed from what is one for all."""
    return operand.one is not None or (operand.is_linear and not operand.holds)


def laid_out(body: Body, operand: Lanes) -> list[str]:
    """Put the vectors of an operand in memory, unless a lane's value follows from the first's."""
    if follows(operand):
        return []
    code = body.code
    if operand.near is not None:
        return [_laid(code, code.lanes("i32"), operand.near.indices)]
    kinds, vectors = body.components(operand.type), body.vectors(operand)
    return [
        _laid(code, code.lanes(stored(kind)), lying(code, kind, vector))
        for kind, vector in zip(kinds, vectors, strict=True)
    ]


def _laid(code: Code, row: str, vector: str) -> str:
    slot = code.row(row, ROW_ALIGNMENT)
    code.line(f"store {row} {vector}, ptr {slot}, align {ROW_ALIGNMENT}")
    return slot


def of_lane(body: Body, operand: Lanes, slots: Sequence[str], lane: str) -> str:
    """One lane's value, of what `laid_out` gave."""
    if operand.is_uniform:
        return operand.scalar
    if operand.one is not None:
        return operand.one(lane)
    if not slots:
        return from_lane(body, operand, lane)
    if operand.near is not None:
        return of_index(body, operand.near, slots[0], lane)
    kinds = body.components(operand.type)
    parts = [taken(body, *each, lane) for each in zip(kinds, slots, strict=True)]
    return put_together(body.code, operand.type, parts, body.layout)


def taken(body: Body, kind: Type, slot: str, lane: str) -> str:
    """A lane's element of a row in memory."""
    code = body.code
    place = code.value(f"getelementptr {stored(kind)}, ptr {slot}, i64 {lane}")
    part = code.value(f"load {stored(kind)}, ptr {place}")
    return part if stored(kind) == kind else code.value(f"trunc {stored(kind)} {part} to {kind}")


def of_index(body: Body, near: Near, slot: str, lane: str) -> str:
    """A lane's address, by the index that lies in memory."""
    code = body.code
    index = taken(body, _INDEX, slot, lane)
    wide = code.value(f"{near.widening} i32 {index} to i64")
    return code.value(f"getelementptr [{near.scale} x i8], ptr {near.base}, i64 {wide}")


def from_lane(body: Body, operand: Lanes, lane: str) -> str:
    """A lane's value, so many strides from that of `operand`."""
    code, kind = body.code, operand.type
    if not isinstance(kind, Int):
        steps = code.value(f"mul i64 {lane}, {operand.stride}")
        return code.value(f"getelementptr i8, {kind} {operand.scalar}, i64 {steps}")
    number = lane
    if kind.bits != 64:
        number = code.value(f"{'trunc' if kind.bits < 64 else 'zext'} i64 {lane} to {kind}")
    steps = code.value(f"mul {kind} {number}, {operand.stride % (1 << kind.bits)}")
    return code.value(f"add {kind} {operand.scalar}, {steps}")


def keep(body: Body, kind: Type, slot: str, lane: str, part: str) -> None:
    """Put one lane's result in its place."""
    code = body.code
    if stored(kind) != kind:
        part = code.value(f"zext {kind} {part} to {stored(kind)}")
    place = code.value(f"getelementptr {stored(kind)}, ptr {slot}, i64 {lane}")
    code.line(f"store {stored(kind)} {part}, ptr {place}")


def kept(body: Body, kind: Type, slot: str) -> str:
    """The results of all lanes."""
    code, row = body.code, body.code.lanes(stored(kind))
    found = code.value(f"load {row}, ptr {slot}, align {ROW_ALIGNMENT}")
    return (
        found if stored(kind) == kind else code.value(f"trunc {row} {found} to {code.lanes(kind)}")
    )


def execute(body: Body, instruction: Instruction, operands: Sequence[str]) -> str:
    """The instruction itself on these operands; its result, empty where there is none."""
    if isinstance(instruction, Atomic):
        return atomic_operation(body, instruction, operands)
    typed = [
        f"{each.type} {text}" for each, text in zip(instruction.operands, operands, strict=True)
    ]
    if isinstance(instruction, Memory):
        text = memory_text(instruction, typed, instruction.alignment)
    elif isinstance(instruction, Call):
        text = _call(instruction, operands)
    else:
        raise IrError(f"{instruction.opcode} for each lane")
    if instruction.type == VOID:
        body.code.line(text)
        return ""
    return body.code.value(text)


def memory_text(instruction: Memory, operands: Sequence[str], alignment: int) -> str:
    """A load or store of these operands, written with their types."""
    atomic = "atomic " if instruction.ordering else ""
    volatile = "volatile " if instruction.volatile else ""
    what = f"{instruction.type}, " if instruction.opcode == "load" else ""
    ordering = f" {instruction.ordering}" if instruction.ordering else ""
    given = ", ".join(operands)
    return f"{instruction.opcode} {atomic}{volatile}{what}{given}{ordering}, align {alignment}"


def _call(call: Call, operands: Sequence[str]) -> str:
    given = ", ".join(
        f"{' '.join(filter(None, (str(each.type), attributes)))} {text}"
        for each, attributes, text in zip(call.operands, call.parameters, operands, strict=True)
    )
    flags = "".join(f"{each} " for each in call.flags)
    before = f"{call.before} " if call.before else ""
    after = f" {call.attributes}" if call.attributes else ""
    return f"call {flags}{before}{call.type} {call.callee}({given}){after}"
