"""Product with 4-bit weights as they are, x W."""

from metalbench.formats.tasks import affine, matmul_without_transpose

qmm_n4 = matmul_without_transpose("qmm_n4", affine(4))
