"""Linear layer of mxfp4 weights for 2 to 16 rows, x W^T."""

from metalbench.formats.tasks import matmul_of_few, mode

qmm_mxfp4_few = matmul_of_few("qmm_mxfp4_few", mode("mxfp4"))
