"""Linear layer of 2-bit weights, groups of 64, x W^T."""

from metalbench.formats.tasks import affine, matmul

qmm2 = matmul("qmm2", affine(2))
