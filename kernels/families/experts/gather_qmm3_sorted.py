"""Rows sorted by expert times the 3-bit matrices of their experts: a mixture's prefill."""

from metalbench.formats.tasks import affine, gather_matmul_sorted

gather_qmm3_sorted = gather_matmul_sorted("gather_qmm3_sorted", affine(3))
