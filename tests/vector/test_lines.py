"""The order of masked blocks: every lane's way is found in it, whatever way that is."""

from __future__ import annotations

import random

from metalbench.msl.ir.flow import flow_of
from metalbench.msl.ir.model import Block, Function
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.text import IrError
from metalbench.msl.vector.divergence import Divergence
from metalbench.msl.vector.lines import Lines, lines_of


def function_of(**edges: str) -> Function:
    """A function of the blocks named, each with its one or two targets; one without returns."""
    lines = ["define void @f(i1 %c) {"]
    for name, targets in edges.items():
        to = [f"label %{each}" for each in targets.split()]
        end = {0: "ret void", 1: f"br {to[0] if to else ''}"}.get(
            len(to), f"br i1 %c, {', '.join(to)}"
        )
        lines += [f"{name}:", f"  {end}"]
    return read_function("\n".join([*lines, "}"]), "f")


def parted(function: Function, *branches: str) -> tuple[Divergence, Lines]:
    flow = flow_of(function)
    divergence = Divergence(flow)
    for name in branches:
        divergence.add(function.blocks[f"%{name}"])
    return divergence, lines_of(flow, divergence)


def names(blocks: object) -> object:
    if isinstance(blocks, Block):
        return blocks.name[1:] if blocks.name.startswith("%") else blocks.name
    return {names(one): names(other) for one, other in blocks.items()}


def test_both_sides_of_a_branch_and_then_where_they_meet():
    function = function_of(a="b c", b="d", c="d", d="")
    _, lines = parted(function, "a")
    assert names(lines.after) == {"b": "c", "c": "d"}
    assert names(lines.first) == {"a": "b"}


def test_a_branch_within_a_branch_is_of_the_same_line():
    function = function_of(a="b f", b="c d", c="e", d="e", e="g", f="g", g="")
    _, lines = parted(function, "a", "b")
    assert names(lines.after) == {"b": "c", "c": "d", "d": "e", "e": "f", "f": "g"}
    assert names(lines.first) == {"a": "b"}


def test_a_loop_that_lanes_leave_goes_back_behind_its_last_block():
    function = function_of(a="b", b="c e", c="c d", d="b", e="")
    _, lines = parted(function, "b", "c")
    assert names(lines.after) == {"b": "c", "c": "d", "d": "e"}
    last = {
        names(block): [names(loop.header) for loop in loops] for block, loops in lines.loops.items()
    }
    assert last == {"c": ["c"], "d": ["b"]}
    assert names(lines.first) == {}


def test_an_early_return_ends_with_the_function():
    function = function_of(a="b c", b="", c="d", d="")
    _, lines = parted(function, "a")
    assert names(lines.after) == {"b": "c", "c": "d", "d": "exit"}


def test_uniform_branches_stay():
    function = function_of(a="b c", b="d", c="d", d="")
    divergence, lines = parted(function)
    assert not divergence.masked
    assert not lines.after


def walk(lines: Lines, divergence: Divergence, start: Block, draw: random.Random) -> Block:
    """Where a lane's way ends, found as the masks of a line would find it; any way may be drawn."""
    at, wanted = start, draw.choice(start.successors)
    while True:
        if at not in divergence.masked:
            at = lines.first[at] if at in divergence.regions else wanted
        else:
            back = [loop for loop in lines.loops.get(at, ()) if loop.header is wanted]
            at = back[0].header if back else lines.after[at]
        if at is not wanted:
            assert at in divergence.masked, f"{at.name} runs instead of {wanted.name}"
        elif not at.successors:
            return at
        else:
            wanted = draw.choice(at.successors)


def test_every_way_of_a_lane_is_found():
    found = 0
    for seed in range(2000):
        draw = random.Random(seed)
        count = draw.randint(3, 9)
        edges = {f"b{i}": "" for i in range(count)}
        for i in range(count - 1):
            to = {draw.randint(i + 1, count - 1) for _ in range(draw.randint(1, 2))}
            if i and len(to) == 1 and draw.random() < 0.4:
                to |= {draw.randint(1, i)}
            edges[f"b{i}"] = " ".join(f"b{each}" for each in sorted(to))
        function = function_of(**edges)
        try:
            flow = flow_of(function)
            divergence = Divergence(flow)
            for block in flow.order:
                if len(block.successors) > 1:
                    divergence.add(block)
            lines = lines_of(flow, divergence)
        except IrError:
            continue
        found += 1
        for _ in range(5):
            assert not walk(lines, divergence, function.entry, draw).successors
    assert found > 500
