"""Puzzles: exercises that teach Metal, from a map to a tiled matrix product, and their judge.

Statements, skeletons and references are in the folder `puzzles`.
"""

from metalbench.puzzle.attempt import Attempt, Score, check
from metalbench.puzzle.puzzle import Puzzle, filled, find, series

__all__ = ["Attempt", "Puzzle", "Score", "check", "filled", "find", "series"]
