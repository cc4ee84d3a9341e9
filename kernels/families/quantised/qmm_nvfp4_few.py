"""Linear layer of nvfp4 weights for 2 to 16 rows, x W^T."""

from metalbench.formats.tasks import matmul_of_few, mode

qmm_nvfp4_few = matmul_of_few("qmm_nvfp4_few", mode("nvfp4"))
