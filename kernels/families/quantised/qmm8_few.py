"""Linear layer of 8-bit weights, groups of 64, for 2 to 16 rows, x W^T."""

from metalbench.formats.tasks import affine, matmul_of_few

qmm8_few = matmul_of_few("qmm8_few", affine(8))
