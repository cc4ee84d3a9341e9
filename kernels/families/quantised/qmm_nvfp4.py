"""Linear layer of nvfp4 weights, x W^T."""

from metalbench.formats.tasks import matmul, mode

qmm_nvfp4 = matmul("qmm_nvfp4", mode("nvfp4"))
