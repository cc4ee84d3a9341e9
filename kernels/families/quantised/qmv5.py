"""Matrix of 5-bit weights, groups of 64, times a vector."""

from metalbench.formats.tasks import affine, matvec

qmv5 = matvec("qmv5", affine(5))
