"""Dominators, loops and the order of blocks, on small functions."""

from __future__ import annotations

import random

import pytest

from metalbench.msl.analysis.control_flow import flow_of
from metalbench.msl.ir.model import Function
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.text import IrError


def function_of(**edges: str) -> Function:
    """A function of the blocks named, each with its targets; one without them returns."""
    lines = ["define void @f(i32 %x) {"]
    for name, targets in edges.items():
        to = targets.split()
        lines.append(f"{name}:")
        if not to:
            lines.append("  ret void")
        elif len(to) == 1:
            lines.append(f"  br label %{to[0]}")
        else:
            cases = " ".join(f"i32 {at}, label %{each}" for at, each in enumerate(to[1:]))
            lines.append(f"  switch i32 %x, label %{to[0]} [ {cases} ]")
    return read_function(Module("\n".join([*lines, "}"])).function("f"))


def names(blocks) -> list[str]:
    return [each.name[1:] for each in blocks]


def test_a_branch_has_its_reconvergence_point():
    function = function_of(a="b c", b="d", c="d", d="")
    flow = flow_of(function)
    at = function.blocks
    assert names(flow.order) == ["a", "b", "c", "d"]
    assert flow.dominator[at["%d"]] is at["%a"]
    assert flow.postdominator[at["%a"]] is at["%d"]
    assert flow.dominates(at["%a"], at["%c"])
    assert not flow.dominates(at["%b"], at["%d"])
    assert flow.postdominates(at["%d"], at["%b"])
    assert flow.loops == ()


def test_loops_within_loops():
    function = function_of(a="b", b="c e", c="c d", d="b f", e="", f="e")
    flow = flow_of(function)
    inner, outer = flow.loops
    assert (names([inner.header]), names(inner.latches)) == (["c"], ["c"])
    assert sorted(names(outer.blocks)) == ["b", "c", "d"]
    assert inner.parent is outer
    assert outer.parent is None
    assert sorted((one.name, other.name) for one, other in outer.exits) == [
        ("%b", "%e"),
        ("%d", "%f"),
    ]
    assert names(flow.order) == ["a", "b", "c", "d", "f", "e"]


def test_unreachable_blocks_are_left_out():
    function = function_of(a="b", b="", c="b")
    flow = flow_of(function)
    assert list(function.blocks) == ["%a", "%b"]
    assert names(function.blocks["%b"].predecessors) == ["a"]
    assert names(flow.order) == ["a", "b"]


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        (dict(a="b c", b="c d", c="b d", d=""), "several entries"),
        (dict(a="b", b="a"), "nothing ever leaves"),
    ],
)
def test_flow_without_structure_is_refused(edges, words):
    with pytest.raises(IrError, match=words):
        flow_of(function_of(**edges))


def test_the_block_order_keeps_edges_and_loops_whole():
    looked_at = 0
    for seed in range(300):
        draw = random.Random(seed)
        count = draw.randint(2, 12)
        edges = {f"b{i}": "" for i in range(count)}
        for i in range(count - 1):
            to = {draw.randint(i + 1, count - 1) for _ in range(draw.randint(1, 2))}
            to |= {draw.randint(0, i)} if draw.random() < 0.3 else set()
            edges[f"b{i}"] = " ".join(f"b{each}" for each in sorted(to, reverse=True))
        function = function_of(**edges)
        try:
            flow = flow_of(function)
        except IrError:
            continue
        looked_at += 1
        assert sorted(names(flow.order)) == sorted(names(function.blocks.values()))
        for block in flow.order:
            for after in block.successors:
                back = flow.position[after] <= flow.position[block]
                assert back == flow.dominates(after, block)
        for loop in flow.loops:
            places = sorted(flow.position[each] for each in loop.blocks)
            assert places == list(range(places[0], places[0] + len(places)))
            assert flow.order[places[0]] is loop.header
    assert looked_at > 100
