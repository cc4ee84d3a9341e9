"""Reduction of failing programs."""

from __future__ import annotations

from generated import syntax as s
from generated.agreement import is_settled, suits_fibers
from generated.model import expected
from generated.random_programs import random_program
from generated.shrinking import shrunk, size

LANE = s.Name("uint", "lane")
SUM = s.Assign(s.Name("uint", "v"), s.Together("uint", "simd_sum", [LANE]))
SOME = s.Compare("bool", "<", LANE, s.Literal("uint", 8))


def program(*body: s.Statement) -> s.Program:
    return s.Program(0, (32, 1, 1), (32, 1, 1), [s.Declare("v", LANE), *body])


def loop(*body: s.Statement) -> s.Statement:
    return s.For("k", "uint", s.Literal("uint", 3), list(body))


def asks_for_others(each: s.Program) -> bool:
    """Something that may be wrong with a program that the model can run."""
    try:
        expected(each)
    except KeyError:
        return False
    return any(isinstance(part, s.Together) for part in s.every(each))


def test_little_is_left():
    seed = next(at for at in range(100) if size(random_program(at)) > 300)
    large = random_program(seed)
    small = shrunk(large, asks_for_others, most=2000)
    assert asks_for_others(small)
    assert size(small) < 15 < size(large)


def test_shrunk_keeps_a_program_that_never_fails():
    whole = random_program(1)
    assert shrunk(whole, lambda each: False, most=200) == whole


def reads_an_array(each: s.Program) -> bool:
    """Another such thing."""
    try:
        expected(each)
    except (KeyError, IndexError):
        return False
    return any(isinstance(part, s.Element) for part in s.every(each))


def test_indices_keep_their_bounds():
    index = s.Below("uint", s.Binary("uint", "*", LANE, s.Literal("uint", 3)), 4)
    read = s.Assign(s.Name("uint", "v"), s.Element("uint", "p", index))
    small = shrunk(program(s.DeclareArray("p", "uint", 4), loop(read)), reads_an_array)
    assert small.body == [
        s.DeclareArray("p", "uint", 4),
        s.Assign(s.Name("uint", "v"), s.Element("uint", "p", s.Literal("uint", 1))),
    ]


def test_shrunk_keeps_array_accesses_in_bounds():
    def reads_by_lanes(each: s.Program) -> bool:
        elements = [part for part in s.every(each) if isinstance(part, s.Element)]
        return reads_an_array(each) and any(LANE in s.every(part) for part in elements)

    index = s.Below("uint", s.Binary("uint", "*", LANE, s.Literal("uint", 3)), 4)
    read = s.Assign(s.Name("uint", "v"), s.Element("uint", "p", index))
    small = shrunk(program(s.DeclareArray("p", "uint", 4), loop(read)), reads_by_lanes)
    assert small.body[-1].value.index == s.Below("uint", LANE, 4)


def test_a_loop_that_is_always_left_is_not_settled():
    assert is_settled(program(loop(s.If(SOME, [loop(SUM), s.Break()], []))))
    assert is_settled(program(loop(SUM), s.Return(None)))
    assert not is_settled(program(loop(SUM, s.Break())))
    assert not is_settled(program(loop(s.If(SOME, [loop(SUM, s.Return(None))], []))))


def test_generated_programs_are_settled():
    assert all(is_settled(random_program(seed)) for seed in range(300))


def test_fibers_take_lanes_that_part_but_for_those_that_leave_a_loop_in_a_turn():
    assert suits_fibers(program(s.If(SOME, [SUM], [SUM]), loop(SUM)))
    assert suits_fibers(program(loop(s.If(SOME, [SUM], []))))
    assert suits_fibers(program(loop(s.If(SOME, [s.Continue()], []), SUM)))
    assert not suits_fibers(program(loop(s.If(SOME, [SUM, s.Break()], []))))
    assert not suits_fibers(program(loop(SUM, s.If(SOME, [s.Return(None)], []))))


def test_programs_for_fibers_are_many():
    assert sum(suits_fibers(random_program(seed)) for seed in range(200)) > 100
