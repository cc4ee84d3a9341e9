"""Linear layer of nvfp4 weights, x W^T."""

from metalbench.formats.problems import matmul, mode

qmm_nvfp4 = matmul("qmm_nvfp4", mode("nvfp4"))
