"""A module whose kernel is one lane's, made one whose kernel is a SIMD-group's."""

from __future__ import annotations

import re
from collections.abc import Iterable

from metalbench.msl.emission.addresses import address, variable
from metalbench.msl.emission.arithmetic import compute
from metalbench.msl.emission.blocks import Blocks
from metalbench.msl.emission.body import Body, Launch
from metalbench.msl.emission.choice import with_masks
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
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.text import IrError
from metalbench.msl.vector.lines import lines_of
from metalbench.msl.vector.private import Analysed, analyse_with_memory

SOURCE = "mb_vector_source"
BODY = "mb_vector_body"
ROWS = "mb_vector_rows"
_PARAMETERS = (
    *("ptr %launch", "ptr %group", "ptr noalias %arena", "i32 %index", "i32 %x", "i32 %y"),
    *("i32 %z", "i32 %simdgroup", "ptr %positions", "i32 %live"),
)
_DEFINITION = re.compile(r'^define [^@]*@("[^"]*"|[\w.$-]+)\(.*?^}$', re.MULTILINE | re.DOTALL)
_CALLED = re.compile(r'\bcall [^@\n]*@("[^"]*"|[\w.$-]+)\(')
_ATOMIC = re.compile(r"= (?:atomicrmw|cmpxchg) ")
_ONCE = ("llvm.", "_ZN2mbL4spinEv")
_SUBPROGRAM = re.compile(r" !dbg (!\d+) \{$")
_GROUP_OF = re.compile(r" #(\d+)")


def vectorise(module: str, launch: Launch) -> str:
    """The module for launches of this shape. Raises IrError for what cannot be done here."""
    function = read_function(module, SOURCE)
    apart = _apart(module)
    flow = flow_of(function)
    names = {each.name for _, each in function.instructions if isinstance(each, Call)}
    analysed = analyse_with_memory(
        function,
        flow,
        launch.width,
        sources(launch.width, rows=launch.rows, names=names, apart=apart),
    )
    _refuse_waiting(function, analysed)
    body = Body(function, flow, analysed, launch, machine_of(module))
    body.apart = apart
    text = _write(body, function)
    return _module(body, function, text)


def _apart(module: str) -> frozenset[str]:
    """The functions that do for each lane what must not be done once for all: atomic updates.

    Raises IrError where one that was not inlined has a part of all lanes in it.
    """
    inside: dict[str, str] = {
        found[1]: found[0].partition("\n")[2] for found in _DEFINITION.finditer(module)
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
    return frozenset(name for name in found if not name.startswith(_ONCE))


def _refuse_waiting(function: Function, analysed: Analysed) -> None:
    """Raise IrError for a loop in which lanes may wait for each other.

    Lanes that leave it would stand behind it until all have, and never do what others wait for.
    """
    loops = analysed.shapes.divergence.loops
    for block, each in function.instructions:
        reads = isinstance(each, Memory) and each.opcode == "load" and each.ordering
        swaps = isinstance(each, Atomic) and each.operation == "xchg"
        if (reads or swaps) and any(block in loop.blocks for loop in loops):
            raise IrError("threads of a SIMD-group may wait for each other in a loop")


def _write(body: Body, function: Function) -> list[str]:
    """The function's own text."""
    subprogram = _SUBPROGRAM.search(function.head)
    live = ""
    code = body.code
    if subprogram:
        code.place = f"!DILocation(line: 0, scope: {subprogram[1]})"
    launch, group = function.parameters
    body.give(launch.text, Lanes(launch.type, "%launch"))
    body.give(group.text, Lanes(group.type, "%group"))
    if not body.launch.rows:
        live = code.value(f"bitcast i32 %live to {code.mask}")
    divergence = with_masks(body)
    blocks = Blocks(body, divergence, lines_of(body.flow, divergence), live, _emit)
    opening, code.lines = code.lines, []
    blocks.write()
    start = "b0"
    attributes = "".join(
        f" #{each}" for each in _GROUP_OF.findall(function.head.rpartition(")")[2])
    )
    debug = f" !dbg {subprogram[1]}" if subprogram else ""
    head = f"define void @{BODY}({', '.join(_PARAMETERS)}) local_unnamed_addr{attributes}{debug} {{"
    jump = f"  br label %{start}" + (f", !dbg {code.place}" if code.place else "")
    return [head, "start:", *code.entry, *opening, jump, *code.lines, "}"]


def _emit(body: Body, instruction: Instruction) -> None:
    found = _result(body, instruction)
    if found is not None:
        body.define(instruction, found)


def _result(body: Body, instruction: Instruction) -> Lanes | None:
    if isinstance(instruction, Memory):
        if instruction.opcode == "load":
            return load(body, instruction)
        store(body, instruction)
        return None
    if isinstance(instruction, Call):
        if instruction.name.startswith(PREFIX):
            return marked(body, instruction)
        return call(body, instruction)
    if isinstance(instruction, Atomic):
        if instruction.opcode == "fence":
            execute(body, instruction, [])
            return None
        return one_by_one(body, instruction)
    if isinstance(instruction, Alloca):
        return variable(body, instruction)
    if isinstance(instruction, ElementPointer):
        return address(body, instruction)
    return compute(body, instruction)


def _module(body: Body, function: Function, text: Iterable[str]) -> str:
    """The function in the place of the one that it was made of."""
    before, after = (
        [line for line in lines if not _is_replaced(line)]
        for lines in (function.before, function.after)
    )
    whole = "\n".join([*before, *text, *after])
    declared = set(re.findall(r"^(?:declare|define) [^@\n]*@([\w.$]+)\(", whole, re.MULTILINE))
    added = [line for name, line in body.code.declarations.items() if name not in declared]
    rows = f"@{ROWS} = hidden constant i8 {int(body.launch.rows)}"
    whole = whole.replace(f"@{SOURCE}", f"@{BODY}")
    return "\n".join([whole, rows, *added, ""])


def _is_replaced(line: str) -> bool:
    return line.startswith((f"@{ROWS} =",)) or (line.startswith("declare ") and f"@{BODY}(" in line)
