"""Linear layer of 4-bit weights, groups of 64, x W^T."""

from metalbench.formats.tasks import affine, matmul

qmm4 = matmul("qmm4", affine(4))
