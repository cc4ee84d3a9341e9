"""Matrix of 4-bit weights, groups of 64, times a vector, by columns."""

from metalbench.formats.tasks import affine, matvec

qmv4_columns = matvec("qmv4_columns", affine(4))
