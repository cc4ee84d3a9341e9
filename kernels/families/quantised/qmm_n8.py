"""Product with 8-bit weights as they are, x W."""

from metalbench.formats.tasks import affine, matmul_without_transpose

qmm_n8 = matmul_without_transpose("qmm_n8", affine(8))
