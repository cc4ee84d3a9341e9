"""Rows sorted by expert times the 8-bit matrices of their experts: a mixture's prefill."""

from metalbench.formats.tasks import affine, gather_matmul_sorted

gather_qmm8_sorted = gather_matmul_sorted("gather_qmm8_sorted", affine(8))
