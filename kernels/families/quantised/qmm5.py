"""Linear layer of 5-bit weights, groups of 64, x W^T."""

from metalbench.formats.tasks import affine, matmul

qmm5 = matmul("qmm5", affine(5))
