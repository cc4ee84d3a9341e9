"""Matrix of 3-bit weights, groups of 64, times a vector."""

from metalbench.formats.tasks import affine, matvec

qmv3 = matvec("qmv3", affine(3))
