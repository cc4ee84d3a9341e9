"""Linear layer of mxfp8 weights, x W^T."""

from metalbench.formats.tasks import matmul, mode

qmm_mxfp8 = matmul("qmm_mxfp8", mode("mxfp8"))
