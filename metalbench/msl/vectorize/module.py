"""Whole-function vectorization: turn the kernel of one lane into that of a SIMD-group.

The method follows Karrenberg and Hack ("Whole-Function Vectorization", CGO 2011). Divergent
regions without cross-lane operations are serialized instead of masked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from metalbench.msl.analysis.control_flow import flow_of
from metalbench.msl.analysis.liveness import (
    find_cross_block_uses,
    find_dead_values,
    find_load_dependent,
    find_threadgroup_addresses,
    select_rematerialised,
)
from metalbench.msl.analysis.private_memory import FunctionAnalysis, analyse_private_memory
from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    CallInstruction,
    ElementPointer,
    Function,
    Instruction,
    Memory,
)
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.places import Places
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.text import IrError
from metalbench.msl.vectorize.access_combining import combine_accesses, combine_vector_halves
from metalbench.msl.vectorize.addresses import emit_alloca, emit_getelementptr
from metalbench.msl.vectorize.arithmetic import emit_computation
from metalbench.msl.vectorize.blocks import emit_blocks
from metalbench.msl.vectorize.body import Emitter, LaunchShape, ScalarKernel, read_target
from metalbench.msl.vectorize.intrinsics import emit_call
from metalbench.msl.vectorize.ir_builder import IrBuilder
from metalbench.msl.vectorize.lane_values import LaneValue
from metalbench.msl.vectorize.memory import emit_load, emit_store
from metalbench.msl.vectorize.serialize import emit_scalar, emit_serialized
from metalbench.msl.vectorize.simd_functions import (
    BARRIER_FUNCTION,
    PREFIX,
    emit_marker,
    make_transfer_functions,
)
from metalbench.msl.vectorize.sroa import split_allocas
from metalbench.process import gc_paused

SOURCE = "mb_vector_source"
BODY = "mb_vector_body"
ROWS = "mb_vector_rows"
_PARAMETERS = {
    **dict.fromkeys(("%launch", "%group", "%arena"), "ptr"),
    **dict.fromkeys(("%index", "%x", "%y", "%z", "%simdgroup"), "i32"),
    "%positions": "ptr",
    "%live": "i32",
}
_SPIN = "_ZN2mbL4spinEv"  # lets other SIMD-groups run: one call is enough for all lanes


def vectorize_module(text: str, launch: LaunchShape) -> str:
    """Return the module for launches of this shape. Raise IrError for unsupported kernels."""
    # Nearly all of the many objects are in use.
    with gc_paused():
        module = Module(text)
        _vectorize(module, launch)
        return str(module)


def _vectorize(module: Module, launch: LaunchShape) -> None:
    apart = _find_serialized_functions(module)
    function = read_function(module.function(SOURCE))
    split_allocas(function)
    combine_vector_halves(function)
    flow = flow_of(function)
    names = {each.name for _, each in function.instructions if isinstance(each, CallInstruction)}
    analysis = analyse_private_memory(
        function,
        flow,
        launch.width,
        make_transfer_functions(launch.width, rows=launch.rows, names=names, serialized=apart),
    )
    _refuse_spin_loops(function, analysis)
    analysis = combine_accesses(function, analysis)
    uses = find_cross_block_uses(function, flow)
    rematerialised = select_rematerialised(function, analysis.uniformity, uses)
    kernel = ScalarKernel(
        function,
        flow,
        analysis,
        launch,
        read_target(module, function),
        apart,
        uses=uses,
        load_dependent=find_load_dependent(flow, analysis.uniformity),
        dead=find_dead_values(function),
        threadgroup_addresses=find_threadgroup_addresses(function, f"{PREFIX}arena"),
        rematerialised=rematerialised,
    )
    places = Places(module.metadata, function.subprogram)
    emitter = Emitter(kernel, IrBuilder(launch.width, places.nowhere), places, _emit_result)
    _replace_source(module, emitter, _emit_function(emitter, function))


def _find_serialized_functions(module: Module) -> frozenset[str]:
    """Return the functions that each lane must call separately: those with atomic updates.

    Raise IrError for a function with a SIMD-group function inside that was not inlined.
    """
    calls = {name: function.callees for name, function in module.functions.items()}
    found: set[str] = set()
    for name, function in module.functions.items():
        markers = [each for each in sorted(calls[name]) if each.startswith(PREFIX) and each != BODY]
        if name != SOURCE and markers and name != BARRIER_FUNCTION:
            raise IrError(f"{name} was not inlined, and calls {markers[0]}")
        outside = [
            each for each in calls[name] if each not in calls and not each.startswith("llvm.")
        ]
        if function.has_atomic_updates or outside:
            found.add(name)
    before = -1
    while before != len(found):
        before = len(found)
        found |= {name for name, called in calls.items() if called & found}
    return frozenset(found - {_SPIN})


def _refuse_spin_loops(function: Function, analysis: FunctionAnalysis) -> None:
    """Raise IrError for a loop in which lanes may wait for each other.

    Lanes that leave the loop wait for the others at the join, and never make their progress.
    """
    loops = analysis.uniformity.divergence.divergent_loops
    for block, each in function.instructions:
        reads = isinstance(each, Memory) and each.opcode == "load" and each.ordering
        swaps = isinstance(each, Atomic) and each.operation == "xchg"
        if (reads or swaps) and any(block in loop.blocks for loop in loops):
            raise IrError("threads of a SIMD-group may wait for each other in a loop")


def _emit_function(emitter: Emitter, function: Function) -> list[str]:
    """Return the lines of the function and of its scalar regions."""
    ir, live = emitter.ir, ""
    for parameter, name in zip(function.parameters, ("%launch", "%group"), strict=True):
        emitter.add_parameter(parameter.text, LaneValue(parameter.type, name))
    if not emitter.launch.rows:
        live = ir.emit(f"bitcast i32 %live to {ir.mask_type}")
    regions = emit_blocks(emitter, live, _PARAMETERS, _emit_instruction)
    attributes = "".join(f" {each}" for each in function.attribute_groups)
    functions = regions.emit_functions(attributes)
    emitter.slots.check_stores()
    return [_format_head(emitter, attributes), "start:", *ir.entry, *ir.lines, "}", *functions]


def _format_head(emitter: Emitter, attributes: str) -> str:
    """Return the first line of the definition, with the `attributes` of the original function."""
    given = (
        f"{type_} noalias {name}" if name == "%arena" else f"{type_} {name}"
        for name, type_ in _PARAMETERS.items()
    )
    debug = f" !dbg {emitter.places.subprogram}" if emitter.places.subprogram else ""
    return f"define void @{BODY}({', '.join(given)}) local_unnamed_addr{attributes}{debug} {{"


def _emit_instruction(emitter: Emitter, instruction: Instruction) -> None:
    if emitter.is_constant(instruction):
        return
    if instruction.result in emitter.kernel.dead and not isinstance(instruction, Atomic):
        return
    found = _emit_result(emitter, instruction)
    if found is not None:
        emitter.define(instruction, found)


def _emit_result(emitter: Emitter, instruction: Instruction) -> LaneValue | None:
    return _EMITTERS.get(type(instruction), emit_computation)(emitter, instruction)


def _emit_memory(emitter: Emitter, memory: Memory) -> LaneValue | None:
    if memory.opcode == "load":
        return emit_load(emitter, memory)
    emit_store(emitter, memory)
    return None


def _emit_call(emitter: Emitter, instruction: CallInstruction) -> LaneValue | None:
    return (emit_marker if instruction.name.startswith(PREFIX) else emit_call)(emitter, instruction)


def _emit_atomic(emitter: Emitter, atomic: Atomic) -> LaneValue | None:
    if atomic.opcode == "fence":
        emit_scalar(emitter, atomic, [])
        return None
    found = emit_serialized(emitter, atomic)
    return None if atomic.result in emitter.kernel.dead else found


_EMITTERS: Mapping[type[Instruction], Callable[[Emitter, Any], LaneValue | None]] = {
    Memory: _emit_memory,
    CallInstruction: _emit_call,
    Atomic: _emit_atomic,
    Alloca: emit_alloca,
    ElementPointer: emit_getelementptr,
}


def _replace_source(module: Module, emitter: Emitter, text: Iterable[str]) -> None:
    """Replace the function of one lane by those of a SIMD-group, and declare what they call."""
    declarations, rows = module.declarations, module.globals.get(f"@{ROWS}")
    if f"@{BODY}" in declarations:
        module.remove_line(declarations[f"@{BODY}"])
    if rows is not None:
        module.remove_line(rows.text)
    module.replace_function(SOURCE, "\n".join(text))
    if module.mentions(f"@{SOURCE}"):
        module.rename_globals({f"@{SOURCE}": f"@{BODY}"})
    module.add(f"@{ROWS} = hidden constant i8 {int(emitter.launch.rows)}")
    for name, line in emitter.ir.declarations.items():
        if not (f"@{name}" in declarations or name in module.functions):
            module.add(line)
