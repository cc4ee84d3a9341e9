"""The control flow of a function: dominators, loops, an order of blocks that keeps loops whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from metalbench.msl.ir.model import (
    BasicBlock,
    CallInstruction,
    Function,
    Instruction,
    Phi,
    Terminator,
)
from metalbench.msl.ir.text import IrError

# Blocks behind a loop that belong to one of its iterations in the source.
#
# In `if (c) { x = simd_sum(y); break; }` the sum is behind the loop to LLVM, where the lanes of
# all iterations would meet: temporal divergence. The front end marks where such a block ends
# (msl/frontend/loop_exits.py), by a branch that LLVM does not remove, and the blocks between the
# loop and the mark are added to the loop here. The mark's operand comes from where the iteration
# begins, which identifies the loop.

BEGINS = "mb_vector_turn_begins"
MARK = "mb_vector_turn_ends"


class IterationEnd(NamedTuple):
    """A block that ends iterations, and the blocks in which these begin."""

    block: BasicBlock
    begins: frozenset[BasicBlock]


def take_iteration_ends(function: Function) -> list[IterationEnd]:
    """Remove the marks of iterations from a function and return them. Raises IrError."""
    blocks = {each.result: block for block, each in function.instructions if each.result}
    definitions = function.definitions()
    found, origins = [], set[str]()
    for block in function.blocks.values():
        mark = next((each for each in block.instructions if _calls(each, MARK)), None)
        if mark is not None:
            values = _list_origins(mark, definitions)
            begins = (blocks[each] for each in values if _calls(definitions[each], BEGINS))
            found.append(IterationEnd(block, frozenset(begins)))
            origins |= values
            _remove_mark(function, block, mark)
    for block in function.blocks.values():
        block.instructions = [
            each
            for each in block.instructions
            if each.result not in origins and not _calls(each, BEGINS)
        ]
    return found


def _calls(instruction: Instruction, name: str) -> bool:
    return isinstance(instruction, CallInstruction) and instruction.name == name


def _list_origins(mark: Instruction, definitions: Mapping[str, Instruction]) -> set[str]:
    """Return the values behind a mark's operand: calls that begin an iteration, and phis."""
    found: set[str] = set()
    work = list(mark.operands)
    while work:
        value = work.pop()
        if value.text in found or value.is_undefined:
            continue
        origin = definitions.get(value.text)
        if isinstance(origin, Phi):
            work += origin.operands
        elif origin is None or not _calls(origin, BEGINS):
            raise IrError(f"{value.text} does not come from the begin of an iteration")
        found.add(value.text)
    return found


def _remove_mark(function: Function, block: BasicBlock, mark: Instruction) -> None:
    """Replace the branch on a mark by a jump to its target for false."""
    branch = block.terminator
    if [each.text for each in branch.operands] != [mark.result] or branch.opcode != "br":
        raise IrError(f"the end of an iteration in {block.name} is not the end of the block")
    yes, no = branch.targets
    jump = Terminator(opcode="br", targets=(no,), place=branch.place)
    kept = [each for each in block.instructions[:-1] if each is not mark]
    block.instructions = [*kept, jump]
    block.successors = [function.blocks[no]]
    trap = function.blocks[yes]
    trap.predecessors = [each for each in trap.predecessors if each is not block]


def find_blocks_behind(
    end: BasicBlock, inside: Collection[BasicBlock]
) -> tuple[set[BasicBlock], set[BasicBlock]]:
    """Return the blocks between a mark and the loops before it, and the last blocks of these.

    `inside` are the blocks of the loop whose iteration ends there, and of those around it. Both
    sets are empty where a path to the mark avoids these loops.
    """
    found: set[BasicBlock] = set()
    last: set[BasicBlock] = set()
    work = [end]
    while work:
        block = work.pop()
        if block in inside:
            last.add(block)
        elif block not in found:
            found.add(block)
            if not block.predecessors:
                return set(), set()
            work += block.predecessors
    return found, last


_Neighbours = Callable[[BasicBlock], Iterable[BasicBlock]]


@dataclass(eq=False)
class NaturalLoop:
    """A natural loop: the blocks from which its header is reached again, without leaving it.

    And those `behind` it that belong to one of its iterations (frontend/loop_exits.py).
    """

    header: BasicBlock
    blocks: set[BasicBlock]
    latches: list[BasicBlock] = field(default_factory=list)
    parent: NaturalLoop | None = None
    behind: set[BasicBlock] = field(default_factory=set)

    @property
    def exits(self) -> list[tuple[BasicBlock, BasicBlock]]:
        """The edges that leave it."""
        return [
            (block, after)
            for block in self.blocks
            for after in block.successors
            if after not in self.blocks
        ]


@dataclass(frozen=True)
class Flow:
    """The control flow of a function, without the blocks that are never reached.

    `order` has every block behind those that reach it without going back, and the blocks of a loop,
    or of a region between a branch and where its ways meet, side by side. `exit` stands behind all
    blocks that end the function. `loops` come inner ones first.
    """

    order: tuple[BasicBlock, ...]
    exit: BasicBlock
    dominator: Mapping[BasicBlock, BasicBlock]
    postdominator: Mapping[BasicBlock, BasicBlock]
    loops: tuple[NaturalLoop, ...]
    loop_of: Mapping[BasicBlock, NaturalLoop]
    position: Mapping[BasicBlock, int]

    def dominates(self, above: BasicBlock, block: BasicBlock) -> bool:
        """Return whether every path to `block` goes through `above`."""
        return _is_above(self.dominator, above, block)

    def postdominates(self, below: BasicBlock, block: BasicBlock) -> bool:
        """Return whether every path from `block` to the end goes through `below`."""
        return _is_above(self.postdominator, below, block)


def flow_of(function: Function) -> Flow:
    """Analyse a function; blocks that are never reached are removed from it.

    Raises IrError for loops with several entries, and for those that nothing ever leaves.
    """
    ends = take_iteration_ends(function)
    reached = _reverse_postorder(function.entry, lambda block: block.successors)
    _drop_unreached(function, set(reached))
    dominator = _dominators(reached, lambda block: block.predecessors)
    loops = _loops(reached, dominator, ends)
    loop_of: dict[BasicBlock, NaturalLoop] = {}
    for loop in loops:
        for block in loop.blocks:
            loop_of.setdefault(block, loop)
    exit_, postdominator = _postdominators(reached)
    order = _compact(reached, loop_of, function.entry)
    return Flow(
        tuple(order),
        exit_,
        dominator,
        postdominator,
        tuple(loops),
        loop_of,
        {block: at for at, block in enumerate(order)},
    )


def _drop_unreached(function: Function, reached: set[BasicBlock]) -> None:
    for name, block in list(function.blocks.items()):
        if block not in reached:
            del function.blocks[name]
        block.predecessors = [each for each in block.predecessors if each in reached]


def _reverse_postorder(start: BasicBlock, successors: _Neighbours) -> list[BasicBlock]:
    """As the text has them, where the edges leave a choice."""
    seen: set[BasicBlock] = {start}
    finished: list[BasicBlock] = []

    def others(block: BasicBlock) -> Iterator[BasicBlock]:
        return iter([*successors(block)][::-1])

    stack = [(start, others(start))]
    while stack:
        block, rest = stack[-1]
        fresh = next((each for each in rest if each not in seen), None)
        if fresh is None:
            finished.append(block)
            stack.pop()
        else:
            seen.add(fresh)
            stack.append((fresh, others(fresh)))
    return finished[::-1]


def _dominators(order: list[BasicBlock], predecessors: _Neighbours) -> dict[BasicBlock, BasicBlock]:
    """Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm"; the first is its own."""
    number = {block: at for at, block in enumerate(order)}
    dominator = {order[0]: order[0]}

    def meet(one: BasicBlock, other: BasicBlock) -> BasicBlock:
        while one is not other:
            while number[one] > number[other]:
                one = dominator[one]
            while number[other] > number[one]:
                other = dominator[other]
        return one

    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [each for each in predecessors(block) if each in dominator]
            new = known[0]
            for each in known[1:]:
                new = meet(each, new)
            changed |= dominator.get(block) is not new
            dominator[block] = new
    return dominator


def _is_above(
    dominator: Mapping[BasicBlock, BasicBlock], above: BasicBlock, block: BasicBlock
) -> bool:
    while block is not above:
        if dominator[block] is block:
            return False
        block = dominator[block]
    return True


def _loops(
    order: list[BasicBlock], dominator: Mapping[BasicBlock, BasicBlock], ends: list[IterationEnd]
) -> list[NaturalLoop]:
    number = {block: at for at, block in enumerate(order)}
    loops: dict[BasicBlock, NaturalLoop] = {}
    for block in order:
        for target in block.successors:
            if number[target] > number[block]:
                continue
            if not _is_above(dominator, target, block):
                raise IrError(f"a loop with several entries, one of them {target.name}")
            loop = loops.setdefault(target, NaturalLoop(target, {target}))
            loop.latches.append(block)
            _add_body(loop, block)
    _add_blocks_behind(ends, loops.values())
    inner_first = sorted(loops.values(), key=lambda loop: len(loop.blocks))
    for at, loop in enumerate(inner_first):
        around = (each for each in inner_first[at + 1 :] if loop.header in each.blocks)
        loop.parent = next(around, None)
    return inner_first


def _add_blocks_behind(ends: list[IterationEnd], loops: Collection[NaturalLoop]) -> None:
    """Take what is left for good in a turn into the loop, and into those around that it leaves."""
    changed = True
    while changed:  # a block that is added to a loop may have loops, too, with ends
        changed = False
        for end, begins in ends:
            left = [loop for loop in loops if begins <= loop.blocks and end not in loop.blocks]
            inside = {block for loop in left for block in loop.blocks}
            blocks, last = find_blocks_behind(end, inside)
            for loop in left:
                if last and last <= loop.blocks:
                    loop.blocks |= blocks
                    loop.behind |= blocks
                    changed = True


def _add_body(loop: NaturalLoop, latch: BasicBlock) -> None:
    work = [latch]
    while work:
        block = work.pop()
        if block not in loop.blocks:
            loop.blocks.add(block)
            work += block.predecessors


def _postdominators(order: list[BasicBlock]) -> tuple[BasicBlock, dict[BasicBlock, BasicBlock]]:
    exit_ = BasicBlock("exit")
    ends = [block for block in order if not block.successors]
    backwards = _reverse_postorder(
        exit_, lambda block: ends if block is exit_ else block.predecessors
    )
    if len(backwards) != len(order) + 1:
        raise IrError("a loop that nothing ever leaves")
    return exit_, _dominators(backwards, lambda block: block.successors or (exit_,))


def _compact(
    order: list[BasicBlock], loop_of: Mapping[BasicBlock, NaturalLoop], entry: BasicBlock
) -> list[BasicBlock]:
    """A topological order, but for back edges, in which each loop's blocks stand together."""
    number = {block: at for at, block in enumerate(order)}

    def inside(loop: NaturalLoop | None, blocks: Iterable[BasicBlock]) -> list[BasicBlock]:
        head = loop.header if loop is not None else entry
        node = {block: _child(loop_of.get(block), loop) or block for block in blocks}
        waits_for = dict.fromkeys(node.values(), 0)
        after: dict[BasicBlock | NaturalLoop, list[BasicBlock | NaturalLoop]] = {}
        for block, here in node.items():
            for target in block.successors:
                if target in node and target is not head and node[target] is not here:
                    after.setdefault(here, []).append(node[target])
                    waits_for[node[target]] += 1
        ready = [each for each, missing in waits_for.items() if missing == 0]
        placed: list[BasicBlock] = []
        while ready:
            ready.sort(key=lambda each: number[_first_of(each)])
            here = ready.pop(0)
            placed += inside(here, here.blocks) if isinstance(here, NaturalLoop) else [here]
            for each in after.get(here, ()):
                waits_for[each] -= 1
                if waits_for[each] == 0:
                    ready.append(each)
        return placed

    return inside(None, order)


def _child(loop: NaturalLoop | None, around: NaturalLoop | None) -> NaturalLoop | None:
    """The loop directly inside of `around` that holds `loop`; None if that is `around` itself."""
    if loop is around:
        return None
    while loop is not None and loop.parent is not around:
        loop = loop.parent
    return loop


def _first_of(node: BasicBlock | NaturalLoop) -> BasicBlock:
    return node.header if isinstance(node, NaturalLoop) else node
