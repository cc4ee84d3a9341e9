"""Matrix of nvfp4 weights times a vector."""

from metalbench.formats.tasks import matvec, mode

qmv_nvfp4 = matvec("qmv_nvfp4", mode("nvfp4"))
