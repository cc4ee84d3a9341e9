"""Generations: kernels that models have written, what became of them, and their figures."""
