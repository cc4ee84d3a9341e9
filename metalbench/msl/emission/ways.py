"""Where a block's end leads: one way for all lanes, or each lane's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.lanes import splat
from metalbench.msl.ir.model import Block, Terminator
from metalbench.msl.ir.text import IrError


def choose(body: Body, block: Block, scalar: str, go: Callable[[Block], None]) -> None:
    """A branch by one condition; `go` writes what is done on the way to each target."""
    code, terminator = body.code, block.terminator
    stem = code.fresh("way")
    ways = {target: f"{stem}.{at}" for at, target in enumerate(block.successors)}
    chosen = [ways[body.function.blocks[each]] for each in terminator.targets]
    if terminator.opcode == "br":
        code.fork(scalar, *chosen)
    else:
        kind = terminator.operands[0].type
        cases = " ".join(
            f"{kind} {number}, label %{way}"
            for number, way in zip(terminator.cases, chosen[1:], strict=True)
        )
        code.line(f"switch {kind} {scalar}, label %{chosen[0]} [ {cases} ]")
    for target, way in ways.items():
        code.label(way)
        with body.arm():
            go(target)


def masks(body: Body, block: Block) -> Mapping[Block, str]:
    """Every active lane's own way: the mask of each target. Raises IrError."""
    terminator = block.terminator
    if len(block.successors) == 1:
        return {block.successors[0]: body.mask}
    if terminator.opcode == "br":
        return _of_branch(body, terminator)
    if terminator.opcode == "switch":
        return _of_switch(body, terminator)
    if block.successors:
        raise IrError(f"{terminator.opcode} of lanes that part")
    return {}


def _of_branch(body: Body, terminator: Terminator) -> dict[Block, str]:
    code = body.code
    (condition,) = terminator.operands
    yes = body.vector(body.get(condition))
    no = code.value(f"xor {code.mask} {yes}, splat (i1 true)")
    first, second = (body.function.blocks[each] for each in terminator.targets)
    return {first: code.among(body.mask, yes), second: code.among(body.mask, no)}


def _of_switch(body: Body, terminator: Terminator) -> dict[Block, str]:
    code = body.code
    (condition,) = terminator.operands
    value, lanes = body.vector(body.get(condition)), code.lanes(condition.type)
    ways: dict[Block, str] = {}

    def add(target: str, mask: str) -> None:
        block = body.function.blocks[target]
        before = ways.get(block)
        ways[block] = mask if before is None else code.value(f"or {code.mask} {before}, {mask}")

    default, *targets = terminator.targets
    rest = body.mask or "splat (i1 true)"
    for number, target in zip(terminator.cases, targets, strict=True):
        case = splat(code, condition.type, str(number))
        is_it = code.value(f"icmp eq {lanes} {value}, {case}")
        add(target, code.among(body.mask, is_it))
        rest = code.among(rest, code.value(f"xor {code.mask} {is_it}, splat (i1 true)"))
    add(default, rest)
    return ways
