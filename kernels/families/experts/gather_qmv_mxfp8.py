"""Tokens times the mxfp8 matrices of their experts."""

from metalbench.formats.tasks import gather_matvec, mode

gather_qmv_mxfp8 = gather_matvec("gather_qmv_mxfp8", mode("mxfp8"))
