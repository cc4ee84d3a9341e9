"""Tokens times the mxfp4 matrices of their experts."""

from metalbench.formats.problems import gathered_matvec, mode

gather_qmv_mxfp4 = gathered_matvec("gather_qmv_mxfp4", mode("mxfp4"))
