"""Generations: kernels that a model writes from nothing, many times for many problems."""
