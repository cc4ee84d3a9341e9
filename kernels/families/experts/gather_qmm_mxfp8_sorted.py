"""Rows sorted by expert times the mxfp8 matrices of their experts: a mixture's prefill."""

from metalbench.formats.tasks import gather_matmul_sorted, mode

gather_qmm_mxfp8_sorted = gather_matmul_sorted("gather_qmm_mxfp8_sorted", mode("mxfp8"))
