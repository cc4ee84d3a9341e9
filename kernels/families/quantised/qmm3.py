"""Linear layer of 3-bit weights, groups of 64, x W^T."""

from metalbench.formats.tasks import affine, matmul

qmm3 = matmul("qmm3", affine(3))
