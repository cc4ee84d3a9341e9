"""Emit LLVM's intrinsics for all lanes, `llvm.memset` of interleaved private memory included."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.chips import SIMD_WIDTH
from metalbench.msl.analysis.private_memory import ASSUME_LIKE, LANES_FUNCTIONS, MEMSET
from metalbench.msl.ir.intrinsics import Intrinsic, overload_suffix, parse_intrinsic
from metalbench.msl.ir.model import CallInstruction
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import VOID, Int, Vector
from metalbench.msl.vectorize.addresses import MemoryAccess, offset_address
from metalbench.msl.vectorize.body import Emitter
from metalbench.msl.vectorize.gather_scatter import access_row
from metalbench.msl.vectorize.ir_builder import combine_vectors
from metalbench.msl.vectorize.lane_values import LaneValue
from metalbench.msl.vectorize.serialize import emit_scalar, emit_serialized


def emit_memset(emitter: Emitter, call: CallInstruction) -> None:
    """Emit a fill with one byte: a memset for all lanes, or one masked store per element."""
    address = emitter.get(call.operands[0])
    byte, length = (call.operands[at].integer or 0 for at in (1, 2))
    size = emitter.analysis.layout.strides[emitter.analysis.variables[call.operands[0].text]]
    if not emitter.mask and not emitter.is_scalar:
        whole = length * emitter.width
        arguments = [
            ("ptr", address.scalar),
            ("i8", str(byte)),
            ("i64", str(whole)),
            ("i1", "false"),
        ]
        emitter.ir.call("llvm.memset.p0.i64", "void", arguments)
        return
    kind = Int(8 * size)
    number = int.from_bytes(bytes([byte & 255]) * size, "little", signed=True)
    for at in range(0, length, size):
        here = offset_address(
            emitter, LaneValue(address.type, address.scalar, address.stride), at * emitter.width
        )
        if emitter.is_scalar:
            emitter.ir.emit_void(f"store {kind} {number}, ptr {here.scalar}, align {size}")
        else:
            access_row(
                emitter, here.scalar, MemoryAccess((kind,), (0,), (f"splat ({kind} {number})",))
            )


# Calls: LLVM intrinsics as one instruction for all lanes, and other functions.

# Intrinsics that work element by element on vectors.
_ELEMENTWISE = frozenset(
    {
        *("fma", "fmuladd", "sqrt", "fabs", "floor", "ceil", "trunc", "rint", "nearbyint"),
        *("round", "roundeven", "minnum", "maxnum", "minimum", "maximum", "minimumnum"),
        *("maximumnum", "copysign", "smin", "smax", "umin", "umax", "abs", "ctpop", "ctlz"),
        *("cttz", "bswap", "bitreverse", "fshl", "fshr", "uadd.sat", "usub.sat", "sadd.sat"),
        *("ssub.sat", "is.fpclass", "fptosi.sat", "fptoui.sat", "canonicalize"),
        *("ucmp", "scmp"),
    }
)
# Positions of operands that must be immediate constants.
_CONSTANT_OPERAND = {"abs": 1, "ctlz": 1, "cttz": 1, "is.fpclass": 1}
# Reductions of a vector, with the instruction or intrinsic that combines two elements.
_REDUCTIONS = {
    **{each: each for each in ("add", "mul", "and", "or", "xor", "fadd", "fmul")},
    **{each: f"llvm.{each}" for each in ("smin", "smax", "umin", "umax")},
    "fmin": "llvm.minnum",
    "fmax": "llvm.maxnum",
}


def emit_call(emitter: Emitter, instruction: CallInstruction) -> LaneValue | None:
    """Emit a call that is not a marker of the vectoriser. Return None without a result."""
    name = instruction.name
    if name.startswith(ASSUME_LIKE):
        return None
    if not name:
        raise IrError(f"cannot vectorize a call of {instruction.callee[:40]}")
    if (
        name.startswith(MEMSET)
        and instruction.operands[0].text in emitter.analysis.layout.interleaved
    ):
        emit_memset(emitter, instruction)
        return None
    operands = [emitter.get(each) for each in instruction.operands]
    if LANES_FUNCTIONS.match(name):
        _emit_lanes_function(emitter, instruction, operands)
        return None
    is_uniform = all(each.is_uniform for each in operands)
    if is_uniform and name not in emitter.kernel.serialized_calls:
        found = emit_scalar(emitter, instruction, [each.scalar for each in operands])
        return LaneValue(instruction.type, found) if instruction.type != VOID else None
    if not name.startswith("llvm.") or name.startswith("llvm.mem"):
        serialized = emit_serialized(emitter, instruction)
        return serialized if instruction.type != VOID else None
    return LaneValue(instruction.type, vectors=_emit_intrinsic(emitter, instruction, operands))


def _emit_lanes_function(
    emitter: Emitter, call: CallInstruction, operands: Sequence[LaneValue]
) -> None:
    """Emit one call for all lanes, with the addresses of the rows of the lanes' arrays."""
    if emitter.is_scalar or emitter.width != SIMD_WIDTH:
        raise IrError("a matrix product is in code that not all lanes of a SIMD-group reach")
    interleaved = emitter.analysis.layout.interleaved
    for value, operand in zip(call.operands, operands, strict=True):
        if value.text not in interleaved and not operand.is_uniform:
            raise IrError(
                f"{call.name}: {value.text} is neither uniform nor an array with rows of lanes"
            )
    emit_scalar(emitter, call, [each.scalar for each in operands])


def _emit_intrinsic(
    emitter: Emitter, call: CallInstruction, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    """Emit an LLVM intrinsic, and return the vectors of its result."""
    intrinsic = parse_intrinsic(call.name)
    stem = intrinsic.stem
    if stem in _ELEMENTWISE:
        return _emit_elementwise(emitter, call, intrinsic, operands)
    if stem.startswith("vector.reduce."):
        return (_emit_reduction(emitter, call, stem.removeprefix("vector.reduce."), operands),)
    if stem.endswith(".with.overflow"):
        return _emit_with_overflow(emitter, call, stem, operands)
    if stem == "powi":
        return emit_serialized(emitter, call).vectors
    raise IrError(f"cannot vectorize the intrinsic {call.name}")


def _emit_elementwise(
    emitter: Emitter, call: CallInstruction, intrinsic: Intrinsic, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    ir, stem, found = emitter.ir, intrinsic.stem, []
    flags = "".join(f"{each} " for each in call.flags)
    elements = [each.element if isinstance(each, Vector) else each for each in intrinsic.overloads]
    name = Intrinsic(stem, tuple(Vector(emitter.width, each) for each in elements)).name
    constant = _CONSTANT_OPERAND.get(stem)
    for at, kind in enumerate(emitter.list_components(call.type)):
        arguments = []
        for place, operand in enumerate(operands):
            if place == constant:
                arguments.append((str(operand.type), operand.scalar))
                continue
            of = emitter.list_components(operand.type)
            arguments.append((ir.vector_type(of[at]), emitter.get_vectors(operand)[at]))
        if stem in ("minnum", "maxnum"):
            first, second = (vector for _, vector in arguments)
            found.append(
                combine_vectors(
                    ir, f"llvm.{stem}", kind, first, second, count=emitter.width, flags=flags
                )
            )
        else:
            found.append(ir.call(name, ir.vector_type(kind), arguments, flags=flags))
    return tuple(found)


def _emit_with_overflow(
    emitter: Emitter, call: CallInstruction, stem: str, operands: Sequence[LaneValue]
) -> tuple[str, ...]:
    ir, kind = emitter.ir, operands[0].type
    lanes = ir.vector_type(kind)
    result = f"{{ {lanes}, {ir.mask_type} }}"
    arguments = [(lanes, emitter.get_vector(each)) for each in operands]
    both = ir.call(f"llvm.{stem}.v{emitter.width}{overload_suffix(kind)}", result, arguments)
    return tuple(ir.emit(f"extractvalue {result} {both}, {at}") for at in (0, 1))


def _emit_reduction(
    emitter: Emitter, call: CallInstruction, kind: str, operands: Sequence[LaneValue]
) -> str:
    """Reduce the elements of each lane's vector, from the first to the last."""
    join = _REDUCTIONS.get(kind)
    vector = operands[-1].type
    if join is None or not isinstance(vector, Vector):
        raise IrError(f"cannot vectorize the intrinsic {call.name}")
    parts = list(emitter.get_vectors(operands[-1]))
    if len(operands) > 1:
        parts.insert(0, emitter.get_vector(operands[0]))
    found, flags = parts[0], "".join(f"{each} " for each in call.flags)
    for each in parts[1:]:
        found = combine_vectors(
            emitter.ir, join, vector.element, found, each, count=emitter.width, flags=flags
        )
    return found
