"""Linear layer of 8-bit weights, groups of 64, x W^T."""

from metalbench.formats.tasks import affine, matmul

qmm8 = matmul("qmm8", affine(8))
