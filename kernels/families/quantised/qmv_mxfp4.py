"""Matrix of mxfp4 weights times a vector."""

from metalbench.formats.tasks import matvec, mode

qmv_mxfp4 = matvec("qmv_mxfp4", mode("mxfp4"))
