"""Rows sorted by expert times the 6-bit matrices of their experts: a mixture's prefill."""

from metalbench.formats.tasks import affine, gather_matmul_sorted

gather_qmm6_sorted = gather_matmul_sorted("gather_qmm6_sorted", affine(6))
