"""A module whose kernel is one lane's, made one whose kernel is a SIMD-group's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from metalbench.msl.emission.addresses import address, variable
from metalbench.msl.emission.arithmetic import compute
from metalbench.msl.emission.blocks import write_blocks
from metalbench.msl.emission.body import Body, Kernel, Launch
from metalbench.msl.emission.code import Code
from metalbench.msl.emission.groups import marked
from metalbench.msl.emission.intrinsics import call
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.machine import machine_of
from metalbench.msl.emission.markers import MEET, PREFIX, sources
from metalbench.msl.emission.memory import load, store
from metalbench.msl.emission.one_by_one import execute, one_by_one
from metalbench.msl.ir.flow import flow_of
from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    Call,
    ElementPointer,
    Function,
    Instruction,
    Memory,
)
from metalbench.msl.ir.places import Metadata, Places
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.text import IrError
from metalbench.msl.vector.derived import select_rematerialised
from metalbench.msl.vector.halves import combine_vector_halves
from metalbench.msl.vector.pieces import split_allocas
from metalbench.msl.vector.private import FunctionAnalysis, analyse_private_memory
from metalbench.msl.vector.quads import combine_accesses
from metalbench.msl.vector.uses import (
    find_cross_block_uses,
    find_dead_values,
    find_load_dependent,
    find_threadgroup_addresses,
)
from metalbench.uncollected import gc_paused

SOURCE = "mb_vector_source"
BODY = "mb_vector_body"
ROWS = "mb_vector_rows"
_PARAMETERS = {
    **dict.fromkeys(("%launch", "%group", "%arena"), "ptr"),
    **dict.fromkeys(("%index", "%x", "%y", "%z", "%simdgroup"), "i32"),
    "%positions": "ptr",
    "%live": "i32",
}
_DEFINITION = re.compile(r'\ndefine [^@]*@("[^"]*"|[\w.$-]+)\(.*')
_DECLARED = re.compile(r"(?:declare|define) [^@]*@([\w.$]+)\(")
_CALLED = re.compile(r'call [^@\n]*@("[^"]*"|[\w.$-]+)\(')
_ATOMIC = re.compile(r"= (?:atomicrmw|cmpxchg) ")
_SPIN = "_ZN2mbL4spinEv"  # lets other SIMD-groups run: one call does for all lanes
_SUBPROGRAM = re.compile(r" !dbg (!\d+) \{$")
_GROUP_OF = re.compile(r" #(\d+)")


def vectorise(module: str, launch: Launch) -> str:
    """The module for launches of this shape. Raises IrError for what cannot be done here."""
    # Of so many objects nearly all are in use.
    with gc_paused():
        return _vectorise(module, launch)


def _vectorise(module: str, launch: Launch) -> str:
    function = read_function(module, SOURCE)
    split_allocas(function)
    combine_vector_halves(function)
    apart = _apart(module)
    flow = flow_of(function)
    names = {each.name for _, each in function.instructions if isinstance(each, Call)}
    analysed = analyse_private_memory(
        function,
        flow,
        launch.width,
        sources(launch.width, rows=launch.rows, names=names, apart=apart),
    )
    _refuse_waiting(function, analysed)
    analysed = combine_accesses(function, analysed)
    uses = find_cross_block_uses(function, flow)
    repeated = select_rematerialised(function, analysed.uniformity, uses)
    kernel = Kernel(
        function,
        flow,
        analysed,
        launch,
        machine_of(module),
        apart,
        uses=uses,
        loaded=find_load_dependent(flow, analysed.uniformity),
        idle=find_dead_values(function),
        in_threadgroup=find_threadgroup_addresses(function, f"{PREFIX}arena"),
        derived=repeated,
    )
    metadata, subprogram = Metadata(function.after), _SUBPROGRAM.search(function.head)
    places = Places(metadata, subprogram[1] if subprogram else "")
    body = Body(kernel, Code(launch.width, places.nowhere), places, _result)
    text = _write(body, function)
    return _module(body, function, [*text, *metadata.added])


def _apart(module: str) -> frozenset[str]:
    """The functions that do for each lane what must not be done once for all: atomic updates.

    Raises IrError where one that was not inlined has a part of all lanes in it.
    """
    module = f"\n{module}"
    inside: dict[str, str] = {
        found[1]: module[found.end() : module.index("\n}", found.end())]
        for found in _DEFINITION.finditer(module)
    }
    calls = {name: set(_CALLED.findall(text)) for name, text in inside.items()}
    found: set[str] = set()
    for name, text in inside.items():
        marks = [each for each in calls[name] if each.startswith(PREFIX) and each != BODY]
        if name != SOURCE and marks and name != MEET:
            raise IrError(f"{name} is a function of its own, and calls {marks[0]}")
        outside = [
            each for each in calls[name] if each not in inside and not each.startswith("llvm.")
        ]
        if _ATOMIC.search(text) or outside:
            found.add(name)
    before = -1
    while before != len(found):
        before = len(found)
        found |= {name for name, called in calls.items() if called & found}
    return frozenset(found - {_SPIN})


def _refuse_waiting(function: Function, analysed: FunctionAnalysis) -> None:
    """Raise IrError for a loop in which lanes may wait for each other.

    Lanes that leave it would stand behind it until all have, and never do what others wait for.
    """
    loops = analysed.uniformity.divergence.divergent_loops
    for block, each in function.instructions:
        reads = isinstance(each, Memory) and each.opcode == "load" and each.ordering
        swaps = isinstance(each, Atomic) and each.operation == "xchg"
        if (reads or swaps) and any(block in loop.blocks for loop in loops):
            raise IrError("threads of a SIMD-group may wait for each other in a loop")


def _write(body: Body, function: Function) -> list[str]:
    """The function's own text."""
    code, live = body.code, ""
    for parameter, name in zip(function.parameters, ("%launch", "%group"), strict=True):
        body.give(parameter.text, Lanes(parameter.type, name))
    if not body.launch.rows:
        live = code.value(f"bitcast i32 %live to {code.mask}")
    walks = write_blocks(body, live, _PARAMETERS, _emit)
    said = "".join(f" #{each}" for each in _GROUP_OF.findall(function.head.rpartition(")")[2]))
    others = walks.functions(said)
    return [_head(body, said), "start:", *code.entry, *code.lines, "}", *others]


def _head(body: Body, said: str) -> str:
    """The definition's first line, with what is `said` of the function that it is made of."""
    given = (
        f"{type_} noalias {name}" if name == "%arena" else f"{type_} {name}"
        for name, type_ in _PARAMETERS.items()
    )
    debug = f" !dbg {body.places.subprogram}" if body.places.subprogram else ""
    return f"define void @{BODY}({', '.join(given)}) local_unnamed_addr{said}{debug} {{"


def _emit(body: Body, instruction: Instruction) -> None:
    if body.is_known(instruction):
        return
    if instruction.result in body.kernel.idle and not isinstance(instruction, Atomic):
        return
    found = _result(body, instruction)
    if found is not None:
        body.define(instruction, found)


def _result(body: Body, instruction: Instruction) -> Lanes | None:
    return _WRITERS.get(type(instruction), compute)(body, instruction)


def _memory(body: Body, memory: Memory) -> Lanes | None:
    if memory.opcode == "load":
        return load(body, memory)
    store(body, memory)
    return None


def _call(body: Body, instruction: Call) -> Lanes | None:
    return (marked if instruction.name.startswith(PREFIX) else call)(body, instruction)


def _atomic(body: Body, atomic: Atomic) -> Lanes | None:
    if atomic.opcode == "fence":
        execute(body, atomic, [])
        return None
    found = one_by_one(body, atomic)
    return None if atomic.result in body.kernel.idle else found


_WRITERS: Mapping[type[Instruction], Callable[[Body, Any], Lanes | None]] = {
    Memory: _memory,
    Call: _call,
    Atomic: _atomic,
    Alloca: variable,
    ElementPointer: address,
}


def _module(body: Body, function: Function, text: Iterable[str]) -> str:
    """The function in the place of the one that it was made of."""
    before, after = (
        [line for line in lines if not _is_replaced(line)]
        for lines in (function.before, function.after)
    )
    whole = "\n".join([*before, *text, *after])
    declared = {found[1] for line in (*before, *after) if (found := _DECLARED.match(line))}
    added = [line for name, line in body.code.declarations.items() if name not in declared]
    rows = f"@{ROWS} = hidden constant i8 {int(body.launch.rows)}"
    whole = whole.replace(f"@{SOURCE}", f"@{BODY}")
    return "\n".join([whole, rows, *added, ""])


def _is_replaced(line: str) -> bool:
    return line.startswith(f"@{ROWS} =") or (line.startswith("declare ") and f"@{BODY}(" in line)
