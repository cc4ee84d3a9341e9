"""Linear layer of mxfp4 weights, x W^T."""

from metalbench.formats.tasks import matmul, mode

qmm_mxfp4 = matmul("qmm_mxfp4", mode("mxfp4"))
