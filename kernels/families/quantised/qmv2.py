"""Matrix of 2-bit weights, groups of 64, times a vector."""

from metalbench.formats.tasks import affine, matvec

qmv2 = matvec("qmv2", affine(2))
