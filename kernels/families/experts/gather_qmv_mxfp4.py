"""Tokens times the mxfp4 matrices of their experts."""

from metalbench.formats.tasks import gather_matvec, mode

gather_qmv_mxfp4 = gather_matvec("gather_qmv_mxfp4", mode("mxfp4"))
