"""Matrix of mxfp8 weights times a vector."""

from metalbench.formats.tasks import matvec, mode

qmv_mxfp8 = matvec("qmv_mxfp8", mode("mxfp8"))
