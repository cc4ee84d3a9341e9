"""Puzzles: exercises that teach Metal, from a map to a tiled matrix product, and their judge.

Statements, skeletons and references are in the folder `puzzles`.
"""

from metalbench.puzzle.attempt import Attempt, Score, check
from metalbench.puzzle.declaration import Declared, Puzzle, puzzle
from metalbench.puzzle.series import find, series
from metalbench.puzzle.skeleton import filled

__all__ = ["Attempt", "Declared", "Puzzle", "Score", "check", "filled", "find", "puzzle", "series"]
