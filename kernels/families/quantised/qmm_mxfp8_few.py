"""Linear layer of mxfp8 weights for 2 to 16 rows, x W^T."""

from metalbench.formats.tasks import matmul_of_few, mode

qmm_mxfp8_few = matmul_of_few("qmm_mxfp8_few", mode("mxfp8"))
