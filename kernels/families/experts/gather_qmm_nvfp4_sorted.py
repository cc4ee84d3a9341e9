"""Rows sorted by expert times the nvfp4 matrices of their experts: a mixture's prefill."""

from metalbench.formats.tasks import gather_matmul_sorted, mode

gather_qmm_nvfp4_sorted = gather_matmul_sorted("gather_qmm_nvfp4_sorted", mode("nvfp4"))
