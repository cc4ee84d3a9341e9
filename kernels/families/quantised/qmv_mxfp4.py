"""Matrix of mxfp4 weights times a vector."""

from metalbench.formats.problems import matvec, mode

qmv_mxfp4 = matvec("qmv_mxfp4", mode("mxfp4"))
