"""Puzzles: exercises that teach Metal, from a map to a tiled matrix product, and their judge.

Statements, skeletons and references are in the folder `puzzles`.
"""
