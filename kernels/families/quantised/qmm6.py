"""Linear layer of 6-bit weights, groups of 64, x W^T."""

from metalbench.formats.tasks import affine, matmul

qmm6 = matmul("qmm6", affine(6))
