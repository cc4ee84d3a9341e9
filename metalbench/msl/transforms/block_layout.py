"""Lay out the blocks of fibers' code so that lanes that diverged reconverge.

Fibers that wait at different calls resume in the order of these calls in the code
(csrc/cpu/group_runner.cpp). So a call must be behind all blocks from which it is still reached,
those of a loop before it included. LLVM keeps to no such order: its passes put a block anywhere,
and its block placement puts what it takes for rare behind all else. A function that is called is
outside of every order, so it must be inlined.

Lanes that diverge in a loop, and then wait at different calls, are distinguished by iterations:
those in an earlier one resume first, so that all lanes of one iteration meet. The
place of a call in the code does not show that, as the loop leads back from its last call to its
first. So the headers of loops around such calls count iterations, and each call is preceded by one
that passes the counts to the runtime (csrc/msl/mb/cpu/fiber_sync.h).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from metalbench.msl.analysis.control_flow import Flow, NaturalLoop, flow_of
from metalbench.msl.ir.model import BasicBlock, CallInstruction, Function
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.rewriter import Rewriter
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import Layout

# The flags of a module that is laid out: machine code whose blocks stay where they are.
FLAGS = [
    *("-Xclang", "-disable-llvm-passes"),
    *("-mllvm", "-disable-block-placement"),
    *("-mllvm", "-disable-branch-fold"),
]
# Functions of the MSL headers, by the beginnings of their symbols: `mb::meet`, and `mb::in_turns`.
_MEET = "_ZN2mbL4meetE"
_PASS_COUNTS = "_ZN2mbL8in_turnsEPKj"
_OWN = ("_ZN2mb", "_ZNK2mb")
_INLINING = ("noinline", "alwaysinline", "inlinehint")
_COUNTS = "%mb.turns"
_NO_LOOP = -1


def may_diverge(module: Module) -> bool:
    """Return whether a module has calls at which lanes wait for each other."""
    return any(_count_meetings(each) for each in module.functions.values())


def inline_meeting_functions(module: Module) -> None:
    """Have LLVM inline the functions in which lanes may meet, before it optimises the module.

    Functions that call themselves, or are called by their address, are not inlined. Nor are those
    of the MSL headers that are `noinline` (`mb::run` separates what is checked from what is not).
    """
    meeting, groups = _find_meeting(module), module.attribute_groups
    inlined: dict[str, str] = {}  # groups of attributes, by those that they are made of
    for name in meeting:
        function = module.functions[name]
        group = next(iter(function.attribute_groups), "")
        if not group or not function.head.startswith(("define internal ", "define linkonce_odr ")):
            continue
        words = groups[group].split(" ")
        if name.startswith(_OWN) and "noinline" in words:
            continue
        if group not in inlined:
            kept = " ".join(each for each in words if each not in _INLINING)
            inlined[group] = module.add_attribute_group(f"alwaysinline {kept}")
        function.set_attribute_group(group, inlined[group])


def _find_meeting(module: Module) -> list[str]:
    """Return the functions of which a call is one at which lanes may meet."""
    callers = defaultdict[str, list[str]](list)
    for name, function in module.functions.items():
        for called in function.callees:
            callers[called].append(name)
    waiting = [each for called in callers if called.startswith(_MEET) for each in callers[called]]
    found: dict[str, None] = {}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            waiting += callers[name]
    return [name for name in module.functions if name in found]


def lay_out_blocks(module: Module) -> None:
    """Lay out every function in which lanes may meet, and count the iterations of its loops.

    Iterations are counted if the module has the function that counts are passed to.
    """
    has_counts = module.declares(_PASS_COUNTS)
    for function in module.functions.values():
        meetings = _count_meetings(function)
        if meetings < (1 if has_counts else 2):
            continue
        flow = _analyse(function)
        if flow is None:
            continue
        if has_counts:
            _count_iterations(function, flow)
        reached = dict.fromkeys(each.name for each in flow.order)
        order = [*reached, *(each for each in function.blocks if each not in reached)]
        if meetings > 1 and order != [*function.blocks]:
            function.blocks = {name: function.blocks[name] for name in order}
            # LLVM takes numbers as names only in the order of the text.
            function.name_unnamed("mb.unnamed.")


def _is_meeting(each: object) -> bool:
    return isinstance(each, CallInstruction) and each.name.startswith(_MEET)


def _count_meetings(function: Function) -> int:
    """Return the number of calls at which lanes may meet."""
    if not function.mentions(f"@{_MEET}") or function.name.startswith(_MEET):
        return 0
    return sum(1 for _, each in function.instructions if _is_meeting(each))


def _analyse(function: Function) -> Flow | None:
    """Return the control flow; None where a loop has several entries, or no end."""
    # Of blocks without instructions: the analysis removes those that are not reached.
    blocks = {name: BasicBlock(name) for name in function.blocks}
    for name, block in function.blocks.items():
        blocks[name].successors += (blocks[each.name] for each in block.successors)
        blocks[name].predecessors += (blocks[each.name] for each in block.predecessors)
    try:
        return flow_of(Function("", "", (), blocks, Layout({})))
    except IrError:
        return None


def _count_iterations(function: Function, flow: Flow) -> None:
    """Count iterations if calls need it: where lanes may pass one by, or wait at another one."""
    meetings = {
        block: [each for each in function.blocks[block.name].instructions if _is_meeting(each)]
        for block in flow.order
    }
    within = [block for block in flow.order if meetings[block] and block in flow.loop_of]
    is_one = sum(map(len, meetings.values())) == 1
    if not within or (is_one and not any(_may_pass_by(flow, block) for block in within)):
        return
    rewriter = Rewriter(function)
    loops = [*dict.fromkeys(loop for block in within for loop in _loops_around(flow, block))]
    number = {loop: at for at, loop in enumerate(loops)}
    for loop in loops:
        _count_in_header(function, loop, number[loop], rewriter)
    for block, calls in meetings.items():
        around = [number[loop] for loop in _loops_around(flow, block) if calls]
        for call in calls:
            rewriter.insert_before(call, *_pass_counts(around, call.located))
    deepest = max(len(_loops_around(flow, block)) for block in within)
    rewriter.insert_at_start(function.entry, *_allocate(2 * deepest + 1))
    rewriter.apply()


def _loops_around(flow: Flow, block: BasicBlock) -> list[NaturalLoop]:
    """Return the loops that a block is in, the outermost first."""
    loop = flow.loop_of.get(block)
    found: list[NaturalLoop] = []
    while loop is not None:
        found.append(loop)
        loop = loop.parent
    return found[::-1]


def _may_pass_by(flow: Flow, block: BasicBlock) -> bool:
    return not all(
        flow.dominates(block, latch)
        for loop in _loops_around(flow, block)
        for latch in loop.latches
    )


def _count_in_header(
    function: Function, loop: NaturalLoop, number: int, rewriter: Rewriter
) -> None:
    """Count in a loop's header how often control comes back to it."""
    count, after = f"{_COUNTS}.{number}", f"{_COUNTS}.{number}.next"
    incoming = ", ".join(
        f"[ {after if block in loop.blocks else 0}, {block.name} ]"
        for block in loop.header.predecessors
        for target in function.blocks[block.name].terminator.targets
        if target == loop.header.name
    )
    rewriter.insert_at_start(
        function.blocks[loop.header.name],
        f"{count} = phi i32 {incoming}",
        f"{after} = add i32 {count}, 1",
    )


def _pass_counts(around: Iterable[int], located: str) -> Iterable[str]:
    """Yield the instructions that pass the counts of loops, each with its number."""
    words = [word for each in around for word in (str(each), f"{_COUNTS}.{each}")]
    for at, word in enumerate([*words, str(_NO_LOOP)]):
        yield f"store i32 {word}, ptr {_COUNTS}.at.{at}, align 4"
    yield f"call void @{_PASS_COUNTS}(ptr {_COUNTS}){located}"


def _allocate(words: int) -> Iterable[str]:
    """Yield the instructions that allocate memory for counts and their numbers."""
    yield f"{_COUNTS} = alloca [{words} x i32], align 4"
    for at in range(words):
        yield f"{_COUNTS}.at.{at} = getelementptr i32, ptr {_COUNTS}, i64 {at}"
