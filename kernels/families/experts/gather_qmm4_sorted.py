"""Rows sorted by expert times the 4-bit matrices of their experts: a mixture's prefill."""

from metalbench.formats.tasks import affine, gather_matmul_sorted

gather_qmm4_sorted = gather_matmul_sorted("gather_qmm4_sorted", affine(4))
