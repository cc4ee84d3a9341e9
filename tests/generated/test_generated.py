"""Generated kernels give what the model says: `fuzz.py` runs as many as one likes."""

from __future__ import annotations

import pytest
from generated import syntax as s
from generated.agreement import suits_fibers
from generated.fuzz import Found, report_of
from generated.random_programs import random_program
from generated.running import compare
from generated.text import source

SEEDS = range(24)
RICHER_SEEDS = range(8)
SEEDS_OF_FIBERS = [seed for seed in range(100, 130) if suits_fibers(random_program(seed))][:8]


@pytest.mark.parametrize("seed", SEEDS)
def test_vectors_agree_with_the_model(seed):
    found = Found()
    assert report_of(seed, ("vectors",), found, shrinks=False) == ""
    assert found.engines == {"vectors: vectors": 1}, found.reasons


@pytest.mark.parametrize("seed", RICHER_SEEDS)
def test_richer_programs_agree_with_the_model(seed):
    assert report_of(seed, ("vectors",), Found(), shrinks=False, richer=True) == ""


@pytest.mark.parametrize("seed", SEEDS_OF_FIBERS)
def test_fibers_agree_with_the_model(seed):
    found = Found()
    assert report_of(seed, ("fibers",), found, shrinks=False) == ""
    assert found.engines == {"fibers: fibers": 1}


def test_a_seed_is_one_program():
    assert source(random_program(7)) == source(random_program(7)) != source(random_program(8))


def test_richer_programs_have_more_shapes():
    richer = [random_program(seed, richer=True) for seed in range(60)]
    kinds = {type(part) for each in richer for part in s.every(each)}
    assert {s.Fetch, s.Swizzle, s.Given, s.Taken} <= kinds
    types = {getattr(part, "type", "") for each in richer for part in s.every(each)}
    assert {"ulong", "bfloat"} <= types
    assert {each.threads for each in richer} & {(3, 3, 3), (47, 2, 1), (65, 1, 1), (1, 1, 70)}


def test_a_difference_is_reported_with_its_thread(monkeypatch):
    program = random_program(3)
    monkeypatch.setattr(
        "generated.running.source",
        lambda each: source(each).replace("OUT0(0) = sum;", "OUT0(0) = sum + (i == 5);"),
    )
    (difference,) = compare(program, ("vectors",)).differences
    x, y, _ = program.grid
    assert f"of thread ({5 % x}, {5 // x % y}, {5 // x // y}), slot 0" in difference.what
    assert difference.kind == "values"


def test_a_write_beyond_an_output_is_reported(monkeypatch):
    monkeypatch.setattr(
        "generated.running.source",
        lambda each: source(each).replace("OUT0(0) = sum;", "OUT0(0) = sum; out0[-1] = 1;"),
    )
    (difference,) = compare(random_program(3), ("vectors",)).differences
    assert difference.what == "out0: written beyond its ends"


def test_a_value_never_written_by_a_returned_thread_is_not_read():
    """Threadgroup memory is whatever it was: programs whose threads return clear theirs first."""
    assert report_of(7000135, ("vectors",), Found(), shrinks=False) == ""


def test_fibers_in_a_rare_case_reach_the_code_after_it():
    """clang would put the case's code at the end, and with it the call that lanes wait at."""
    assert report_of(7000263, ("fibers",), Found(), shrinks=False) == ""


# What fibers missed once: calls whose code LLVM had put behind that of a later one.
CAUGHT_UP = [(40004033, False), (40005064, False), (40001307, False), (40002037, False)]
CAUGHT_UP += [(40005240, True), (40003345, True)]


@pytest.mark.parametrize(("seed", "richer"), CAUGHT_UP)
def test_divergent_fibers_reconverge_before_they_continue(seed, richer):
    assert report_of(seed, ("fibers",), Found(), shrinks=False, richer=richer) == ""
