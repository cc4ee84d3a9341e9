"""All puzzles have solutions that are right and clean, with the scores that can be said by hand."""

from __future__ import annotations

from math import ceil
from pathlib import Path

import pytest

from metalbench import _core
from metalbench.kernel.prepare import compile_kernel
from metalbench.puzzle.attempt import check
from metalbench.puzzle.puzzle import SCORED, python_form, series

# Device reads and writes, threadgroup reads and writes, of the thread that has most of each.
BY_HAND = {
    "map": lambda n: (1, 1, 0, 0),
    "zip": lambda n: (2, 1, 0, 0),
    "guard": lambda n: (1, 1, 0, 0),
    "map_2d": lambda rows, cols: (1, 1, 0, 0),
    "broadcast": lambda rows, cols: (2, 1, 0, 0),
    # 96 threads take turns.
    "grid_stride": lambda n: (ceil(n / 96), ceil(n / 96), 0, 0),
    "blocks": lambda rows, cols: (1, 1, 0, 0),
    # All of the block, the own element from a register.
    "ranks": lambda n: (1, 1, min(n, 64), 1),
    # Of 68 elements that 64 threads bring one brings two; four neighbours.
    "pooling": lambda n: (2, 1, 4, 2),
    # A tree over 128 threads: thread 0 adds in log2(128) rounds, each hands over once.
    "dot_product": lambda n: (2 * ceil(n / 128), 1, 7, 1),
    # 72 elements and 9 weights by 64 threads; 9 weights and 8 elements that others brought.
    "convolution": lambda n: (2, 1, 8 + 9, 2),
    # The last thread adds in each of log2(128) rounds; the last sum is not written any more.
    "prefix_sum": lambda n: (1, 1, 7, 1 + 7 - 1),
    # One sum of each of four SIMD-groups.
    "row_sums": lambda rows, cols: (ceil(cols / 128), 1, 1, 1),
    # An element of either tile in each step of 16, then a product for each of k.
    "matmul": lambda m, n, k: (2 * ceil(k / 16), 1, 2 * k, 2 * ceil(k / 16)),
}
PUZZLES = series()


def test_there_are_fourteen_in_order():
    assert [each.number for each in PUZZLES] == list(range(1, 15))
    assert [each.name for each in PUZZLES] == list(BY_HAND)


@pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda each: each.stem)
def test_the_solution_is_correct_with_the_score_computed_by_hand(puzzle, solution):
    attempt = check(puzzle, solution(puzzle))
    assert attempt.wrong is None
    assert [each.found for each in attempt.findings] == [()] * len(puzzle.task.sizes)
    for score in attempt.scores:
        by_hand = BY_HAND[puzzle.name](**puzzle.task.values(score.size))
        assert tuple(score.counts[name] for name in SCORED) == by_hand
        assert tuple(score.target[name] for name in SCORED) == by_hand
    assert attempt.at_target


@pytest.mark.parametrize(
    "puzzle",
    [
        pytest.param(each, marks=() if each.number in (9, 14) else pytest.mark.slow, id=each.stem)
        for each in PUZZLES
    ],
)
def test_the_same_over_metal_kernel_of_mlx(puzzle, solution, tmp_path):
    file = tmp_path / f"{puzzle.stem}.py"
    file.write_text(python_form(puzzle, solution(puzzle).read_text()))
    attempt = check(puzzle, file)
    assert attempt.at_target
    for score in attempt.scores:
        by_hand = BY_HAND[puzzle.name](**puzzle.task.values(score.size))
        assert tuple(score.counts[name] for name in SCORED) == by_hand


@pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda each: each.stem)
def test_the_skeleton_compiles(puzzle):
    compiled = compile_kernel(_core.open("cpu"), puzzle.skeleton, puzzle.task)
    assert set(compiled.pipelines) == {puzzle.name}
    assert puzzle.skeleton.source.count("  // Your code") == 1


@pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda each: each.stem)
def test_the_text_is_complete(puzzle):
    assert "## What is new" in puzzle.statement
    assert "## Target" in puzzle.statement
    assert len(puzzle.hints) >= 2
    assert puzzle.following
    # One size at least leaves threads of the last threadgroup without an element.
    (line,) = puzzle.skeleton.dispatches
    assert len(puzzle.task.sizes) >= 3
    assert line.function == puzzle.name


def test_solutions_are_not_where_puzzles_are_installed_from(solution):
    skeletons = {each.skeleton.path.read_text() for each in PUZZLES}
    folder = Path(PUZZLES[0].skeleton.path).parent
    installed = {path.read_text() for path in folder.glob("*.metal")}
    assert installed == skeletons
    assert not installed & {solution(each).read_text() for each in PUZZLES}
