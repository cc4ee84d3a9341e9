"""Control-flow linearisation: every path of a lane is a subsequence of the blocks' order."""

from __future__ import annotations

import random

from metalbench.msl.analysis.control_flow import flow_of
from metalbench.msl.analysis.divergence import Divergence
from metalbench.msl.ir.model import BasicBlock, Function
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.text import IrError
from metalbench.msl.vectorize.linearisation import Linearisation, linearise


def make_function(**edges: str) -> Function:
    """Return a function with these blocks and their targets; without targets it returns."""
    lines = ["define void @f(i1 %c) {"]
    for name, targets in edges.items():
        to = [f"label %{each}" for each in targets.split()]
        end = {0: "ret void", 1: f"br {to[0] if to else ''}"}.get(
            len(to), f"br i1 %c, {', '.join(to)}"
        )
        lines += [f"{name}:", f"  {end}"]
    return read_function(Module("\n".join([*lines, "}"])).function("f"))


def linearise_branches(function: Function, *branches: str) -> tuple[Divergence, Linearisation]:
    flow = flow_of(function)
    divergence = Divergence(flow)
    for name in branches:
        divergence.add(function.blocks[f"%{name}"])
    return divergence, linearise(flow, divergence)


def names(blocks: object) -> object:
    if isinstance(blocks, BasicBlock):
        return blocks.name[1:] if blocks.name.startswith("%") else blocks.name
    return {names(one): names(other) for one, other in blocks.items()}


def test_linearise_branches_orders_both_sides_before_the_join():
    function = make_function(a="b c", b="d", c="d", d="")
    _, lines = linearise_branches(function, "a")
    assert names(lines.next_block) == {"b": "c", "c": "d"}
    assert names(lines.first_block) == {"a": "b"}


def test_nested_branches_share_a_sequence():
    function = make_function(a="b f", b="c d", c="e", d="e", e="g", f="g", g="")
    _, lines = linearise_branches(function, "a", "b")
    assert names(lines.next_block) == {"b": "c", "c": "d", "d": "e", "e": "f", "f": "g"}
    assert names(lines.first_block) == {"a": "b"}


def test_a_divergent_loop_repeats_after_its_last_block():
    function = make_function(a="b", b="c e", c="c d", d="b", e="")
    _, lines = linearise_branches(function, "b", "c")
    assert names(lines.next_block) == {"b": "c", "c": "d", "d": "e"}
    last = {
        names(block): [names(loop.header) for loop in loops]
        for block, loops in lines.ended_loops.items()
    }
    assert last == {"c": ["c"], "d": ["b"]}
    assert names(lines.first_block) == {}


def test_an_early_return_joins_at_the_exit():
    function = make_function(a="b c", b="", c="d", d="")
    _, lines = linearise_branches(function, "a")
    assert names(lines.next_block) == {"b": "c", "c": "d", "d": "exit"}


def test_uniform_branches_stay():
    function = make_function(a="b c", b="d", c="d", d="")
    divergence, lines = linearise_branches(function)
    assert not divergence.masked
    assert not lines.next_block


def follow_lane(
    lines: Linearisation, divergence: Divergence, start: BasicBlock, draw: random.Random
) -> BasicBlock:
    """Return the last block of a random path of a lane through the linearised blocks."""
    at, wanted = start, draw.choice(start.successors)
    while True:
        if at not in divergence.masked:
            at = lines.first_block[at] if at in divergence.regions else wanted
        else:
            back = [loop for loop in lines.ended_loops.get(at, ()) if loop.header is wanted]
            at = back[0].header if back else lines.next_block[at]
        if at is not wanted:
            assert at in divergence.masked, f"{at.name} runs instead of {wanted.name}"
        elif not at.successors:
            return at
        else:
            wanted = draw.choice(at.successors)


def test_every_path_of_a_lane_is_run():
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
        function = make_function(**edges)
        try:
            flow = flow_of(function)
            divergence = Divergence(flow)
            for block in flow.order:
                if len(block.successors) > 1:
                    divergence.add(block)
            lines = linearise(flow, divergence)
        except IrError:
            continue
        found += 1
        for _ in range(5):
            assert not follow_lane(lines, divergence, function.entry, draw).successors
    assert found > 500
