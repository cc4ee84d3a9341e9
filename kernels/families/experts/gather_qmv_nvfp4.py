"""Tokens times the nvfp4 matrices of their experts."""

from metalbench.formats.tasks import gather_matvec, mode

gather_qmv_nvfp4 = gather_matvec("gather_qmv_nvfp4", mode("nvfp4"))
