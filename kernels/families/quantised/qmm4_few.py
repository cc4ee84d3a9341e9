"""Linear layer of 4-bit weights, groups of 64, for 2 to 16 rows, x W^T."""

from metalbench.formats.tasks import affine, matmul_of_few

qmm4_few = matmul_of_few("qmm4_few", affine(4))
