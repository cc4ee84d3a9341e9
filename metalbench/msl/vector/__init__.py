"""Kernels whose SIMD-groups are one thread that works on vectors: every lane is an element."""
